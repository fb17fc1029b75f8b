package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// grace is how long a process may take to end when its context has ended.
const grace = 10 * time.Second

// process is a child that never outlives this process.
type process struct {
	cmd   *exec.Cmd
	pid   int
	ended chan struct{} // closed after err is set
	err   error         // of the end: nil for exit code 0
}

// start runs a program. cleanUp runs when it has ended.
func start(ctx context.Context, binary string, args []string, log io.Writer, cleanUp func() error) (*process, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// An interrupt of the terminal is for this process, which stops its child in order.
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go p.run(started, cleanUp)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	return p, nil
}

// run starts and awaits the child on one thread of its own: Pdeathsig is sent when the thread that started the child
// ends, not when the process does.
func (p *process) run(started chan<- error, cleanUp func() error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	close(started)
	err := p.cmd.Wait()
	if p.cmd.ProcessState.Success() {
		err = nil // Wait also reports that ctx ended, which is no fault of the child
	}
	p.err = errors.Join(err, cleanUp())
	close(p.ended)
}

// result says how the process ended. Call it only after that.
func (p *process) result() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

func (p *process) stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending SIGTERM: %w", err)
	}
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("it did not end on SIGTERM: %w", context.Cause(ctx)), p.kill())
	}
}

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending SIGKILL: %w", err)
	}
	<-p.ended
	return nil
}
