package command

import (
	"errors"

	utilexec "k8s.io/client-go/util/exec"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
)

// The exit codes. A command that is run in a Sandbox passes on its own.
const (
	// ExitOK : done.
	ExitOK = 0
	// ExitFailed : not done; doctor: something is stuck.
	ExitFailed = 1
	// ExitUsage : a flag or an argument cannot be read.
	ExitUsage = 2
	// ExitTimeout : what was waited for did not come in time.
	ExitTimeout = 3
)

// UsageError is wrong usage, as opposed to a cluster that refuses.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.error }

// errStuck : doctor has told already what is the matter.
var errStuck = errors.New("something is stuck")

// Exit returns the exit code for what a command came to, and what is to be said about it; nothing if it was said.
func Exit(err error) (code int, say error) {
	var ended utilexec.CodeExitError
	switch {
	case err == nil:
		return ExitOK, nil
	case errors.Is(err, errStuck):
		return ExitFailed, nil
	case errors.As(err, &ended):
		return ended.Code, nil
	case errors.As(err, &UsageError{}):
		return ExitUsage, err
	case errors.Is(err, await.ErrTimeout):
		return ExitTimeout, err
	}
	return ExitFailed, err
}
