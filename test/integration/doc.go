// Package integration tests the rendered asset and the controller's binary from outside: on a real API server, with
// every object applied as a user applies it, and the controller as a process under its rendered role.
package integration
