package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Program is what Start runs.
type Program struct {
	Path string
	Args []string
	// Env comes on top of the environment of this process, as NAME=value.
	Env []string
	// Dir is the directory it starts in.
	Dir string
	// Log is the file that its output is appended to.
	Log string
	// Unshare are the namespaces that it has of its own, as in unshare(2).
	Unshare uintptr
}

// Start runs a program as a daemon: in a session of its own, without a standard
// input. The daemon survives its starter; while the starter lives it is reaped as
// soon as it ends.
func Start(p Program) (Identity, error) {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Identity{}, fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, out, out
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: p.Unshare}
	if err := cmd.Start(); err != nil {
		return Identity{}, fmt.Errorf("starting %s: %w", p.Path, err)
	}
	// Until the first Wait even a dead child keeps its pid.
	id, err := Identify(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	if errors.Is(err, os.ErrProcessDone) {
		return Identity{}, fmt.Errorf("starting %s: it ended at once: %w", p.Path, err)
	}
	if err != nil {
		return Identity{}, errors.Join(err, cmd.Process.Kill())
	}
	return id, nil
}

// Tail returns the last lines of a log, which may be missing. Where it ends with
// the stack trace of a Go program, these are the lines before that.
func Tail(path string, lines int) (string, error) {
	const window = 64 << 10
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > window {
		if _, err := f.Seek(-window, io.SeekEnd); err != nil {
			return "", fmt.Errorf("reading the end of %s: %w", path, err)
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return LastLines(withoutTrace(string(data)), lines), nil
}

// withoutTrace cuts a stack trace off the end of a log.
func withoutTrace(text string) string {
	isTrace := strings.HasPrefix(LastLines(text, 1), "\t")
	if start := strings.LastIndex(text, "\n\ngoroutine "); isTrace && start >= 0 {
		return text[:start]
	}
	return text
}

// LastLines returns the last n lines of text, without the final line break.
func LastLines(text string, n int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
