package program_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"sigs.k8s.io/agent-sandbox/core/cmd/sandboxd/program"
)

// daemonVariable makes the test program the daemon itself.
const daemonVariable = "TEST_RUNS_SANDBOXD"

func TestMain(m *testing.M) {
	if os.Getenv(daemonVariable) != "" {
		signals, deaths := make(chan os.Signal, 16), make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
		signal.Notify(deaths, syscall.SIGCHLD)
		os.Exit(program.Run(program.Process{
			Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Deaths: deaths, Now: time.Now,
		}, os.Args[1:]))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("os/signal.loop"))
}

// served is a daemon that runs in the test.
type served struct {
	dir                string
	grpc, rest, legacy string
	// stop has it end, and returns what it ended with.
	stop func() error
}

func serve(t *testing.T, environ []string, changes ...func(*program.Options)) *served {
	t.Helper()
	d := &served{dir: t.TempDir()}
	options := program.NewOptions()
	options.RootDir = d.dir
	for _, change := range changes {
		change(&options)
	}
	environ = append(environ, "PATH="+os.Getenv("PATH"), "SANDBOX_BASE_DIR="+d.dir)
	daemon, err := program.New(options, environ, time.Now, logr.Discard())
	must(t, err)
	var on program.Listeners
	on.GRPC, d.grpc = listen(t)
	on.REST, d.rest = listen(t)
	on.Legacy, d.legacy = listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Serve(ctx, on) }()
	stopped := false
	d.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		must(t, d.stop())
		http.DefaultClient.CloseIdleConnections()
	})
	return d
}

func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return listener, listener.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	text, err := tryGet(t.Context(), url)
	must(t, err)
	return text
}

func tryGet(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(response.Body)
	return string(content), errors.Join(err, response.Body.Close())
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for !check() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}
