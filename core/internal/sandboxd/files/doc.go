// Package files owns what the daemon does to files: everything below one directory, and nothing outside of it, whatever names, links and
// whoever else changes the directory meanwhile may do.
package files
