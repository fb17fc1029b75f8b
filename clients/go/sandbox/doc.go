// Package sandbox is the Go SDK: it claims sandboxes, runs commands in them, moves files in and out, and gives them back.
package sandbox
