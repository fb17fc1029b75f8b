package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"unsafe"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// Family knows which children of this process somebody waits for, so that the others can be buried: as the first process of a container, the
// daemon inherits every orphan there.
type Family struct {
	mu      sync.Mutex
	own     map[int]bool
	changed chan struct{}
}

// NewFamily returns a Family without members.
func NewFamily() *Family {
	return &Family{own: map[int]bool{}, changed: make(chan struct{}, 1)}
}

// Start starts the program and takes it into the family. Whoever starts it calls Wait.
func (f *Family) Start(cmd *exec.Cmd) error {
	// A child that has ended before it is known would pass for an orphan.
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.own[cmd.Process.Pid] = true
	return nil
}

// Wait waits for the end of a program. ended is called when it has ended, while its process id, and that of its group, are still its own.
func (f *Family) Wait(cmd *exec.Cmd, ended func()) (ExitCode, error) {
	pid := cmd.Process.Pid
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		continue
	}
	ended()
	err := cmd.Wait()
	f.forget(pid)
	if cmd.ProcessState == nil {
		return 0, fmt.Errorf("waiting for process %d: %w", pid, err)
	}
	return exitCodeOf(cmd.ProcessState), nil
}

func (f *Family) forget(pid int) {
	f.mu.Lock()
	delete(f.own, pid)
	f.mu.Unlock()
	f.nudge()
}

func (f *Family) nudge() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Adopt makes this process the parent of every orphan below it, as the first process of a container is anyway.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	return nil
}

// BuryOrphans waits for those who end and whom nobody else waits for, until ctx ends. deaths gets SIGCHLD. It is for a process all of whose
// children are of the family: it takes others from whoever started them.
func (f *Family) BuryOrphans(ctx context.Context, deaths <-chan os.Signal, log logr.Logger) {
	for {
		if err := f.bury(); err != nil {
			log.Error(err, "An orphan stays a zombie")
		}
		select {
		case <-ctx.Done():
			return
		case <-deaths:
		case <-f.changed:
		}
	}
}

// childInfo is a siginfo_t of 64-bit Linux as waitid fills it in: that of package unix keeps the process id to itself.
type childInfo struct {
	_, _, _, _ int32
	pid        int32
	_          [128 - 5*4]byte
}

// bury stops at a member of the family: whoever waits for it has the rest looked at once it is gone.
func (f *Family) bury() error {
	for {
		var child childInfo
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&child)), unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECHILD:
			return nil
		case err != nil:
			return fmt.Errorf("looking for ended processes: %w", err)
		}
		pid := int(child.pid)
		if pid == 0 || f.knows(pid) {
			return nil
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil && err != unix.ECHILD && err != unix.EINTR {
			return fmt.Errorf("waiting for process %d: %w", pid, err)
		}
	}
}

func (f *Family) knows(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.own[pid]
}
