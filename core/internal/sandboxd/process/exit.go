package process

import (
	"os"
	"syscall"
)

// ExitCode is what a program ends with: its own from 0 to 255, or 128+n when signal n ended it.
type ExitCode int32

// signalled is added to the number of a signal, as shells do.
const signalled = 128

func exitCodeOf(state *os.ProcessState) ExitCode {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + ExitCode(status.Signal())
	}
	return ExitCode(state.ExitCode())
}
