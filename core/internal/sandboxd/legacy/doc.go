// Package legacy is the runtime API that SDKs spoke before the daemon's own: programs and files by plain HTTP.
package legacy
