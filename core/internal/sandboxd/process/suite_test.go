package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func TestMain(m *testing.M) {
	if orphanage := os.Getenv(orphanageVariable); orphanage != "" {
		os.Exit(runOrphanage())
	}
	goleak.VerifyTestMain(m)
}

// newTestManager runs at most 4 programs, whose environment is that of the test and a few variables.
func newTestManager(changes ...func(*Settings)) *Manager {
	settings := Settings{
		Environment: ParseEnvironment(append(os.Environ(), "PLAIN=seen")), Most: 4, Chunk: 4096, Family: NewFamily(), Now: time.Now, Log: logr.Discard(),
	}
	for _, change := range changes {
		change(&settings)
	}
	return NewManager(settings)
}

// recorder is a Sink that keeps everything.
type recorder struct {
	mu             sync.Mutex
	id             int
	stdout, stderr bytes.Buffer
	// largest is of all that came at once.
	largest int
}

func (r *recorder) Started(id int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
	return nil
}

func (r *recorder) Output(stream Stream, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.largest = max(r.largest, len(data))
	if stream == Stderr {
		r.stderr.Write(data)
	} else {
		r.stdout.Write(data)
	}
	return nil
}

func (r *recorder) snapshot() (int, string, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id, r.stdout.String(), r.stderr.String()
}

// run is a program that runs beside the test.
type run struct {
	*recorder

	done chan struct{}
	code ExitCode
	err  error
}

// begin runs a program and returns once it has started or failed.
func begin(t *testing.T, m *Manager, spec Spec) *run {
	t.Helper()
	r := &run{recorder: &recorder{}, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	go func() {
		defer close(r.done)
		r.code, r.err = m.Run(ctx, spec, r.recorder)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	testkit.Eventually(t, "the program starts", func() error {
		if id, _, _ := r.snapshot(); id != 0 {
			return nil
		}
		select {
		case <-r.done:
			return nil
		default:
			return errors.New("it has not yet")
		}
	})
	return r
}

func (r *run) wait(t *testing.T) (ExitCode, error) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(testkit.Patience):
		t.Fatal("the program does not end")
	}
	return r.code, r.err
}

func (r *run) writes(t *testing.T, want string) {
	t.Helper()
	testkit.Eventually(t, "the program writes "+strconv.Quote(want), func() error {
		if _, stdout, stderr := r.snapshot(); !strings.Contains(stdout+stderr, want) {
			return errors.New("it has written " + strconv.Quote(stdout+stderr))
		}
		return nil
	})
}

func shell(script string) Spec { return Spec{Command: []string{"sh", "-c", script}} }

// gone waits until a process is no more, or a zombie that its parent has yet to see.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() error {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return nil
		}
		return errors.New("it is " + string(stat))
	})
}
