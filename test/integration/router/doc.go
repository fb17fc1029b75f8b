// Package router tests the released router from outside: its asset applied as a user applies it, and its binary as a process under its
// rendered role, on a real API server, with sandboxes that are servers of this machine.
package router
