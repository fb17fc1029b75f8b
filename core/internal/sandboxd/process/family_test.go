package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// orphanageVariable makes the test program a process whose children are all of its family.
const orphanageVariable = "SANDBOXD_TEST_ORPHANAGE"

// Orphans are buried, and no program loses its exit code to that: many of both end at the same time.
func TestOrphansAreBuriedAndExitCodesKept(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanageVariable+"=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, output.String())
	}
}

// runOrphanage returns 0 if 200 programs that each leave an orphan end as they should, and no zombie is left.
func runOrphanage() int {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	if err := Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := newTestManager()
	ctx, cancel := context.WithCancel(context.Background())
	buried := make(chan struct{})
	go func() {
		m.Family.BuryOrphans(ctx, deaths, logr.Discard())
		close(buried)
	}()
	err := errors.Join(leaveOrphans(m), awaitNoZombies())
	cancel()
	<-buried
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func leaveOrphans(m *Manager) error {
	errs := make([]error, m.Most)
	var workers sync.WaitGroup
	for n := range errs {
		workers.Go(func() {
			for k := range 50 {
				want := ExitCode((n*50 + k) % 256)
				// The orphan leaves the session, ends a little later, and nobody but the family can wait for it.
				spec := Spec{Command: []string{"sh", "-c", fmt.Sprintf("setsid sh -c 'sleep 0.0%d' >/dev/null 2>&1 & exit %d", k%3, want)}, Dir: "/"}
				if code, err := m.Run(context.Background(), spec, &recorder{}); code != want || err != nil {
					errs[n] = errors.Join(errs[n], fmt.Errorf("code %d, want %d, error %w", code, want, err))
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

func awaitNoZombies() error {
	var left []string
	for range 500 {
		if left = children(); len(left) == 0 {
			return nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return fmt.Errorf("children are left: %s", strings.Join(left, ", "))
}

// children are those of this process, zombies or not.
func children() []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if string(fields[1]) == fmt.Sprint(os.Getpid()) {
			found = append(found, string(stat))
		}
	}
	return found
}
