package guest

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnsupported says that the runtime in the sandbox cannot do this.
	ErrUnsupported = errors.New("the runtime of this sandbox cannot do that")
	// ErrTooLarge says that an answer was larger than its limit.
	ErrTooLarge = errors.New("the answer is larger than its limit")
)

// Limits of answers that are held in memory, in bytes.
const (
	// MaxRunResponse is that of a command's output.
	MaxRunResponse = 16 << 20
	// MaxListResponse is that of a directory.
	MaxListResponse = 8 << 20
)

// Result is how a command ended, and what it printed.
type Result struct {
	// Stdout and Stderr are what it printed.
	Stdout, Stderr string
	// ExitCode is 128 and the signal's number where a signal ended it.
	ExitCode int
}

// Entry is one in a directory.
type Entry struct {
	// Name within the directory.
	Name string
	// Size in bytes.
	Size int64
	// Type is "file" or "directory".
	Type string
	// ModTime is when it was changed last.
	ModTime time.Time
	// Mode holds its permissions in octal, as "0644"; empty where the runtime does not tell.
	Mode string
}

// Terminal is the size of one.
type Terminal struct {
	// Cols and Rows are its width and height in characters.
	Cols, Rows uint32
}

// Command is a program to run.
type Command struct {
	// Args are the program and its arguments; no shell is between.
	Args []string
	// Env is added to the environment that the daemon gives.
	Env map[string]string
	// Dir is the working directory; empty means that of the daemon.
	Dir string
	// Terminal gives it a terminal, whose output is all standard output; nil means none.
	Terminal *Terminal
}

// TooLarge is ErrTooLarge of what, which may have limit bytes.
func TooLarge(what string, limit int64) error {
	return fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, what, limit)
}
