// Package sandbox is the Go SDK: it claims sandboxes, runs commands in them, moves files in and out, and gives them back.
//
// A Client claims and finds sandboxes; a Sandbox is one of them. Every call takes a context first, and leaves nothing behind when that
// ends: no claim that it made, no port-forward, no goroutine.
package sandbox
