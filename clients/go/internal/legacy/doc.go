// Package legacy speaks the older runtime API: commands and files of one directory, over plain HTTP.
package legacy
