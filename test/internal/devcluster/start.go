package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/process"
)

const (
	// healthEvery is the time between two looks at a component that starts.
	healthEvery = 50 * time.Millisecond
	// healthPatience is how long a component may take to become healthy.
	healthPatience = 90 * time.Second
	// logTail is how many lines of a log go into an error.
	logTail = 15
)

// starter is one start of a cluster.
type starter struct {
	*Cluster
	programs programs
	client   *http.Client
	// held keeps the ports of components that are about to start.
	held *ports.Set

	mu      sync.Mutex
	started []component
}

// StartError says that a component did not start, or not become healthy.
type StartError struct {
	Component string
	// Reason says what was seen of it.
	Reason string
	// Log is the path of its log, Tail are the last lines in it.
	Log, Tail string
}

// Error implements error.
func (e *StartError) Error() string {
	text := fmt.Sprintf("%s %s; last lines of %s:\n%s", e.Component, e.Reason, e.Log, e.Tail)
	if strings.Contains(e.Tail, syscall.ENOSPC.Error()) {
		return "disk full: " + text
	}
	return text
}

// PortError says that a port the cluster needs belongs to another program.
type PortError struct {
	Component string
	Port      int
	// Hint is the way out.
	Hint string
}

// Error implements error.
func (e *PortError) Error() string {
	return fmt.Sprintf("port %d for %s is taken by another program: %s", e.Port, e.Component, e.Hint)
}

// choosePorts gives every port a number, and holds those of components that do
// not run until they start. Stored numbers are used again where they are free.
// While some components run the others must keep their ports, because the
// running ones know them.
func (s *starter) choosePorts(stored map[string]int) error {
	s.layout.ports, s.layout.real = s.settings.Ports, s.settings.Real
	running := map[string]bool{}
	for _, c := range s.components() {
		_, alive, err := s.identity(c.name)
		if err != nil {
			return err
		}
		running[c.name] = alive
	}
	anyRuns := len(stored) > 0 && containsTrue(running)
	if asked := s.options.APIPort; anyRuns && asked != 0 && asked != stored[APIServer] {
		return fmt.Errorf("cluster %q runs with API port %d: stop it first to change that to %d",
			s.Name(), stored[APIServer], asked)
	}
	for _, c := range s.components() {
		for _, name := range c.ports {
			if running[c.name] {
				s.layout.ports[name] = stored[name]
				continue
			}
			port, err := s.holdPort(name, stored[name], anyRuns)
			if err != nil {
				return err
			}
			s.layout.ports[name] = port
		}
	}
	return nil
}

func containsTrue(set map[string]bool) bool {
	for _, is := range set {
		if is {
			return true
		}
	}
	return false
}

// holdPort holds the wanted port or, where it is not fixed, another.
func (s *starter) holdPort(name string, wanted int, fixed bool) (int, error) {
	hint := "stop that, or take the cluster down and start it again"
	if asked := s.options.APIPort; name == APIServer && asked != 0 {
		wanted, fixed = asked, true
		hint = "choose another one with --api-port, or leave the flag out to get a free one"
	}
	if wanted == 0 {
		return s.held.HoldFree(name)
	}
	err := s.held.Hold(name, wanted)
	var taken *ports.TakenError
	if !errors.As(err, &taken) {
		return wanted, err
	}
	if fixed {
		return 0, &PortError{Component: name, Port: wanted, Hint: hint}
	}
	s.report("port %d for %s is taken now, choosing another", wanted, name)
	return s.held.HoldFree(name)
}

// startAll starts the components. As soon as the API server answers it gets the
// objects that the others rely on, and then the nodes.
func (s *starter) startAll(ctx context.Context) error {
	config, err := s.RESTConfig()
	if err != nil {
		return err
	}
	furnished := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return walk(ctx, dependenciesFirst(s.components()), func(ctx context.Context, c component) error {
			if err := s.start(ctx, c); err != nil || c.name != APIServer {
				return err
			}
			defer close(furnished)
			return s.furnish(ctx, config)
		})
	})
	group.Go(func() error {
		if err := await(ctx, furnished); err != nil {
			return err
		}
		return settle(ctx, config, s.settings)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return s.checkAlive()
}

// furnish applies the objects that the cluster's components rely on.
func (s *starter) furnish(ctx context.Context, config *rest.Config) error {
	if err := applyObjects(ctx, config, objectsYAML); err != nil || !s.settings.Real {
		return err
	}
	return applyObjects(ctx, config, nodeObjectsYAML)
}

// start runs a component, unless it runs already, and waits until it is healthy.
func (s *starter) start(ctx context.Context, c component) error {
	id, alive, err := s.identity(c.name)
	if err != nil {
		return err
	}
	began := time.Now()
	if !alive {
		if c.before != nil {
			if err := c.before(ctx, s); err != nil {
				return fmt.Errorf("preparing %s: %w", c.name, err)
			}
		}
		if id, err = s.launch(c); err != nil {
			return fmt.Errorf("starting %s: %w", c.name, err)
		}
	}
	if err := s.awaitHealthy(ctx, c, id); err != nil {
		return err
	}
	if !alive {
		s.report("%s started in %s", c.name, time.Since(began).Round(10*time.Millisecond))
	}
	return nil
}

func (s *starter) launch(c component) (process.Identity, error) {
	for _, port := range c.ports {
		s.held.Release(port)
	}
	id, err := process.Start(s.program(c))
	if err != nil {
		return id, err
	}
	if err := writeJSON(s.layout.record(c.name), id); err != nil {
		return id, errors.Join(err, id.Stop(context.Background(), c.grace))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, c)
	return id, nil
}

// program returns how a component runs: beside a real node within its namespaces, which the first of its components makes.
func (s *starter) program(c component) process.Program {
	p := process.Program{
		Path: s.programs.path(c.program), Args: append(c.args(s.layout), s.settings.Args[c.name]...),
		Dir: s.layout.dir, Log: s.layout.log(c.name),
	}
	switch {
	case c.name == Node:
		p.Unshare = node.Namespaces
	case s.settings.Real:
		// Container runtimes find their parts on the PATH.
		p.Env = []string{"PATH=" + s.programs.built + string(filepath.ListSeparator) + os.Getenv("PATH")}
		enter := s.enterCommand("--group="+s.layout.group(), "--dir="+p.Dir)
		p.Path, p.Args = enter[0], slices.Concat(enter[1:], []string{p.Path}, p.Args)
	}
	return p
}

func (s *starter) awaitHealthy(ctx context.Context, c component, id process.Identity) error {
	patience := time.NewTimer(healthPatience)
	defer patience.Stop()
	ticker := time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		sick := probe(ctx, s.client, s.layout.healthURL(c))
		if !id.Alive() {
			return s.startError(c, "ended while it started")
		}
		if sick == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-patience.C:
			return s.startError(c, fmt.Sprintf("is not healthy after %s (%v)", healthPatience, sick))
		case <-ticker.C:
		}
	}
}

// checkAlive finds what ended while others were still starting.
func (s *starter) checkAlive() error {
	for _, c := range s.components() {
		_, alive, err := s.identity(c.name)
		if err != nil {
			return err
		}
		if !alive {
			return s.startError(c, "ended soon after it started")
		}
	}
	return nil
}

func (s *starter) startError(c component, reason string) error {
	log := s.layout.log(c.name)
	tail, err := process.Tail(log, logTail)
	return errors.Join(&StartError{Component: c.name, Reason: reason, Log: log, Tail: tail}, err)
}
