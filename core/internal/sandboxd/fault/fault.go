// Package fault decides what kind of fault an error is, once for all the APIs of the daemon.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Kind is what a caller can do something about.
type Kind int

// The kinds of faults.
const (
	// Internal : the daemon's own fault, or one that it does not know.
	Internal Kind = iota
	// Invalid : the request makes no sense.
	Invalid
	// Forbidden : it reaches for what lies outside of the root, or for what the daemon's user may not touch.
	Forbidden
	// NotFound : what it names is not there.
	NotFound
	// Conflict : what is there stands in its way.
	Conflict
	// Premature : what it names is not in the state for it, or no longer.
	Premature
	// Exhausted : a limit of the daemon is reached.
	Exhausted
	// Late : it took longer than it may.
	Late
	// Unavailable : the machine has no room for it now, or the daemon is about to end.
	Unavailable
)

// Error is a fault of a kind that the daemon chose.
type Error struct {
	Kind    Kind
	message string
}

// New returns an error of that kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, message: fmt.Sprintf(format, args...)}
}

// Error says what is wrong and what would be right.
func (e *Error) Error() string { return e.message }

// KindOf tells the kind of any error: of one that the daemon chose, else of what the operating system said.
func KindOf(err error) Kind {
	if chosen, ok := errors.AsType[*Error](err); ok {
		return chosen.Kind
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Late
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return kindOfErrno(number)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NotFound
	case errors.Is(err, fs.ErrPermission):
		return Forbidden
	case errors.Is(err, fs.ErrExist):
		return Conflict
	case errors.Is(err, fs.ErrInvalid):
		return Invalid
	case errors.Is(err, fs.ErrClosed):
		return Unavailable
	}
	return Internal
}

func kindOfErrno(number syscall.Errno) Kind {
	switch number {
	case syscall.ENOENT:
		return NotFound
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return Forbidden
	case syscall.EEXIST, syscall.ENOTEMPTY, syscall.EISDIR, syscall.ENOTDIR, syscall.EBUSY, syscall.ETXTBSY:
		return Conflict
	case syscall.EINVAL, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.E2BIG, syscall.ENOEXEC, syscall.ENXIO, syscall.ENODEV:
		return Invalid
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN:
		return Unavailable
	}
	return Internal
}
