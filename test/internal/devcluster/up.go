package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

const (
	// undoPatience bounds how long a start that came to nothing may take to
	// stop what it started.
	undoPatience = 30 * time.Second
	// stateMode keeps other users away from keys and etcd's data.
	stateMode = 0o700
)

// Up builds what is missing, starts the cluster or what is not running of it,
// and returns once it is ready: the API server answers, the default
// ServiceAccount exists and all simulated nodes take Pods. A running cluster is
// left as it is. A cluster that crashed or was stopped comes back with its
// data, on the same ports where they are free.
//
// If ctx ends or something fails, all that this call started is stopped again;
// the state of a new cluster is removed too, unless a component failed: its
// *StartError names the log, which is kept. Other errors to tell apart are
// *PortError.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	o.Out = &lineWriter{to: o.Out}
	c := &Cluster{options: o, layout: layout{dir: filepath.Join(o.StateDir, o.Name)}}
	if o.RealNode {
		if err := node.Check(); err != nil {
			c.report("%v; simulated nodes take its place", err)
			c.options.RealNode = false
		}
	}
	if err := findPrograms(o.Root).ensure(ctx, o.Root, o.Out, c.options.RealNode); err != nil {
		return nil, err
	}
	held, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(c.layout.dir)
	isNew := errors.Is(err, os.ErrNotExist)
	s := &starter{Cluster: c, held: ports.NewSet(), programs: findPrograms(o.Root)}
	defer s.held.Close()
	err = s.up(ctx)
	if err == nil {
		return c, held.Release()
	}
	err = errors.Join(err, s.undo(ctx))
	var failed *StartError
	if isNew && !errors.As(err, &failed) {
		return nil, errors.Join(err, c.remove(), held.Remove())
	}
	return nil, errors.Join(err, held.Release())
}

// lineWriter lets goroutines share a writer.
type lineWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// up does the work of Up on a locked cluster.
func (s *starter) up(ctx context.Context) error {
	began := time.Now()
	stored, err := loadSettings(s.layout)
	if err != nil {
		return err
	}
	if s.settings, err = s.options.applyTo(stored); err != nil {
		return fmt.Errorf("cluster %q: %w", s.Name(), err)
	}
	if err := s.choosePorts(stored.Ports); err != nil {
		return err
	}
	if err := s.lay(began); err != nil {
		return fmt.Errorf("preparing cluster %q: %w", s.Name(), err)
	}
	if s.client, err = s.healthClient(); err != nil {
		return err
	}
	if err := s.startAll(ctx); err != nil {
		return err
	}
	elapsed := time.Since(began).Round(100 * time.Millisecond)
	s.report("cluster %s is ready after %s, with %s", s.Name(), elapsed, s.settings.nodes())
	return nil
}

// applyTo returns the settings with what the options ask for.
func (o Options) applyTo(s settings) (settings, error) {
	isNew := len(s.Ports) == 0
	if o.RealNode && !s.Real && !isNew {
		return s, errors.New("it has simulated nodes only: take it down first, or give the one with a real node another name")
	}
	if s.Real = s.Real || o.RealNode; s.Real && isNew {
		s.Nodes = 0
	}
	if o.Nodes != KeepNodes {
		s.Nodes = o.Nodes
	}
	if len(o.Args) > 0 {
		s.Args = maps.Clone(o.Args)
	}
	s.Ports = map[string]int{}
	return s, nil
}

// lay writes what the components read.
func (s *starter) lay(now time.Time) error {
	for _, dir := range []string{"", etcdDir, logDir, processDir, nodeDir} {
		if err := os.MkdirAll(s.layout.path(dir), stateMode); err != nil {
			return fmt.Errorf("creating a state directory: %w", err)
		}
	}
	if err := writeJSON(s.layout.path(settingsFile), s.settings); err != nil {
		return err
	}
	if err := writeIdentities(s.layout, s.Name(), now); err != nil {
		return err
	}
	stages, err := os.ReadFile(s.programs.path(build.KwokStages))
	if err != nil {
		return fmt.Errorf("reading KWOK's stages: %w", err)
	}
	stages = append(append(stages, stagesYAML...), forwardingTo(s.layout.ports[simulatedPods])...)
	if err := os.WriteFile(s.layout.path(stagesFile), stages, 0o644); err != nil {
		return fmt.Errorf("writing KWOK's stages: %w", err)
	}
	return nil
}

// undo stops what this call has started, even though its context has ended.
func (s *starter) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	err := s.stop(ctx, s.started)
	if slices.ContainsFunc(s.started, func(c component) bool { return c.name == Node }) {
		err = errors.Join(err, s.stopNode(ctx))
	}
	return err
}
