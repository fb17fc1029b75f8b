package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/legacy"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/rest"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/rpc"
)

// headerTimeout is how long a client may take to send the head of a request. Bodies may take as long as they need.
const headerTimeout = 10 * time.Second

// Daemon serves the APIs of one directory.
type Daemon struct {
	options   Options
	log       logr.Logger
	workspace *files.Workspace
	base      *files.Workspace
	family    *process.Family
	programs  *process.Manager
	rpc       *grpc.Server
	rest      http.Handler
	legacy    http.Handler
}

// Listeners are where the APIs are served; nil is nowhere.
type Listeners struct{ GRPC, REST, Legacy net.Listener }

// New returns a daemon with its directories open; environ has the form of os.Environ. It fails when a flag is out of bounds, or a directory
// cannot be opened. Serve closes what it opens.
func New(options Options, environ []string, now func() time.Time, log logr.Logger) (*Daemon, error) {
	environment := process.ParseEnvironment(environ)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	older, err := readLegacy(environment, options.RootDir)
	if err != nil {
		return nil, err
	}
	workspace, err := files.Open(options.RootDir)
	if err != nil {
		return nil, fmt.Errorf("--root-dir=%s: must be a directory that the daemon can open; mount a volume there: %w", options.RootDir, err)
	}
	base, err := files.Open(older.baseDir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s=%s: must be a directory that the daemon can open: %w", baseDirVariable, older.baseDir, err), workspace.Close())
	}
	d := &Daemon{options: options, log: log, workspace: workspace, base: base, family: process.NewFamily()}
	d.programs = process.NewManager(process.Settings{
		Environment: environment.Public(options.PassEnv), Most: options.MaxProcesses, Chunk: options.StreamChunkSize, Family: d.family, Now: now, Log: log,
	})
	d.rpc = rpc.NewServer(workspace, d.programs, rpc.Limits{Duration: options.MaxProcessDuration, Output: options.MaxOutputBytes})
	d.rest = rest.NewHandler(rest.Settings{
		Workspace: workspace, Metadata: variables(environment, options.MetadataEnvPrefix, process.Hidden), Now: now, Log: log,
	})
	d.legacy = legacy.NewHandler(legacy.Settings{
		Workspace: base, Programs: d.programs, Limit: older.timeout, Output: options.MaxOutputBytes, Log: log,
	})
	return d, nil
}

// Serve serves until ctx ends, and closes the listeners and the directories. Requests and programs that are under way have the time of the
// options to end. It fails when a listener does.
func (d *Daemon) Serve(ctx context.Context, on Listeners) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// What requests began ends with this one: later than ctx.
	requests, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	web := []*http.Server{d.webServer(requests, d.rest), d.webServer(requests, d.legacy)}
	for n, listener := range []net.Listener{on.REST, on.Legacy} {
		if listener != nil {
			go func() { cancel(serveError(web[n].Serve(listener))) }()
		}
	}
	if on.GRPC != nil {
		go func() { cancel(serveError(d.rpc.Serve(on.GRPC))) }()
	}
	<-ctx.Done()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	d.stop(web, abort)
	return errors.Join(err, d.workspace.Close(), d.base.Close())
}

func (d *Daemon) webServer(requests context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       d.options.HTTPIdleTimeout,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(d.log), slog.LevelInfo),
	}
}

// serveError is nil for a server that was told to stop, which ends the daemon as well as an error.
func serveError(err error) error {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serving: %w", err)
}

// stop lets what is under way end, for as long as it may take, and ends the rest.
func (d *Daemon) stop(web []*http.Server, abort context.CancelFunc) {
	patience, cancel := context.WithTimeout(context.Background(), d.options.ShutdownTimeout)
	defer cancel()
	d.programs.Stop()
	graceful := make(chan struct{})
	go func() {
		d.rpc.GracefulStop()
		close(graceful)
	}()
	for _, server := range web {
		// It fails when the patience is over.
		_ = server.Shutdown(patience)
	}
	select {
	case <-graceful:
	case <-patience.Done():
	}
	abort()
	d.rpc.Stop()
	<-graceful
	for _, server := range web {
		_ = server.Close()
	}
	d.programs.Wait()
}
