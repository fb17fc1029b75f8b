// Package workload runs the program that a container is there for as a child of the daemon, which is its entrypoint then.
package workload

import (
	"fmt"
	"os"
	"os/exec"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

// Run runs the program to its end and passes on every signal. How long it may take to end after one is for the sender to say: Kubernetes
// kills the container once its grace period is over. abandoned ends the wait, too, and kills the program.
func Run(cmd *exec.Cmd, family *process.Family, signals <-chan os.Signal, abandoned <-chan struct{}) (process.ExitCode, error) {
	if err := family.Start(cmd); err != nil {
		return 0, fmt.Errorf("starting the workload: %w", err)
	}
	ended := make(chan end, 1)
	go func() {
		code, err := family.Wait(cmd, func() {})
		ended <- end{code, err}
	}()
	for {
		select {
		case how := <-ended:
			return how.code, how.err
		case signal := <-signals:
			// One that has just ended needs none.
			_ = cmd.Process.Signal(signal)
		case <-abandoned:
			_ = cmd.Process.Kill()
			abandoned = nil
		}
	}
}

type end struct {
	code process.ExitCode
	err  error
}
