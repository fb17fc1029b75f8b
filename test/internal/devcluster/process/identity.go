package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollEvery is how often the end of a process is looked for.
const pollEvery = 20 * time.Millisecond

// Identity names one process for good. A pid alone is used again by the kernel,
// and so are pid and start time after a reboot.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks after boot: field 22 of
	// /proc/PID/stat, see proc_pid_stat(5).
	StartTicks uint64 `json:"startTicks"`
	// BootID is the content of /proc/sys/kernel/random/boot_id.
	BootID string `json:"bootID"`
}

// Identify returns the identity of the process that has the pid now. A process
// that has ended and waits to be reaped counts as gone: os.ErrProcessDone.
func Identify(pid int) (Identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("reading the boot id: %w", err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Identity{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("reading the state of process %d: %w", pid, err)
	}
	ticks, err := startTicks(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Identity{PID: pid, StartTicks: ticks, BootID: strings.TrimSpace(string(boot))}, nil
}

// startTicks reads the start time from a line of /proc/PID/stat. The second
// field is a name in parentheses that may itself hold blanks and parentheses.
func startTicks(stat string) (uint64, error) {
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	const stateField, threadsField, startField = 0, 20 - 3, 22 - 3
	if !found || len(fields) <= startField {
		return 0, fmt.Errorf("unexpected process state %q", stat)
	}
	// A first thread that has ended is not the end of its process: as long as
	// others are not gone too, files and ports stay open.
	if s := fields[stateField]; s == "X" || s == "Z" && fields[threadsField] == "1" {
		return 0, os.ErrProcessDone
	}
	ticks, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading a process's start time: %w", err)
	}
	return ticks, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Alive says whether this very process runs.
func (id Identity) Alive() bool {
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to this very process: the handle is opened before the
// identity is compared, so that no other process can get the signal. It returns
// os.ErrProcessDone if the process is gone.
func (id Identity) Signal(sig os.Signal) error {
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", id.PID, err)
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return fmt.Errorf("process %d: %w", id.PID, os.ErrProcessDone)
	}
	if err := p.Signal(sig); err != nil {
		return fmt.Errorf("sending %v to process %d: %w", sig, id.PID, err)
	}
	return nil
}

// Wait returns once the process has ended, or with the cause of ctx.
func (id Identity) Wait(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of process %d: %w", id.PID, context.Cause(ctx))
		case <-ticker.C:
		}
	}
	return nil
}

// Stop ends the process: it sends TERM, after grace or when ctx is done KILL,
// and returns once the process has really ended. A process that is gone already
// is not an error.
func (id Identity) Stop(ctx context.Context, grace time.Duration) error {
	if err := id.Signal(syscall.SIGTERM); err != nil {
		return ignoreDone(err)
	}
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if id.Wait(polite) == nil {
		return nil
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return ignoreDone(err)
	}
	const uninterruptible = 30 * time.Second
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), uninterruptible)
	defer cancelLast()
	return id.Wait(last)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
