// Package program is sandboxd but for the process that runs it: its flags, and the APIs that it serves.
package program
