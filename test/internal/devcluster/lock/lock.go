package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// retryEvery is how often a lock that another holds is tried again.
const retryEvery = 100 * time.Millisecond

// Lock is held until Release or Remove, or until the process ends, however it
// ends.
type Lock struct {
	file *os.File
}

// Acquire takes the lock at path, creating the file and its directory where
// they are missing. While another process or goroutine holds it Acquire waits,
// until ctx is done; waiting is called once before that.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of lock %s: %w", path, err)
	}
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for announced := false; ; {
		l, err := try(path)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) {
			return l, err
		}
		if !announced {
			waiting()
			announced = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %s: %w", path, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// try takes the lock or returns an error that is EWOULDBLOCK where another
// holds it, or has just removed the file that was opened here.
func try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && !stillAt(f, path) {
		err = unix.EWOULDBLOCK
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return &Lock{file: f}, nil
}

func stillAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// Release gives the lock up and leaves its file.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing lock: %w", err)
	}
	return nil
}

// Remove gives the lock up and removes its file.
func (l *Lock) Remove() error {
	return errors.Join(os.Remove(l.file.Name()), l.Release())
}
