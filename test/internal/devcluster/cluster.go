package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/lock"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/process"
)

// ErrNotFound says that there is no cluster of that name, neither running nor
// stopped.
var ErrNotFound = errors.New("no such cluster")

// ErrNotRunning says that a component's process is not running.
var ErrNotRunning = errors.New("not running")

// Cluster is a cluster that was started at least once and not taken down since.
type Cluster struct {
	options  Options
	layout   layout
	settings settings
}

// Open returns the named cluster, running or not, or ErrNotFound. Of the
// options, Root, Name, StateDir and Out count.
func Open(o Options) (*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.StateDir, o.Name)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster %q in %s: %w", o.Name, o.StateDir, ErrNotFound)
	}
	return load(o)
}

// RemoveLeftover takes down what an earlier run has left of the named cluster, if
// anything. Of the options, Root, Name, StateDir and Out count.
func RemoveLeftover(ctx context.Context, o Options) error {
	leftover, err := Open(o)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return leftover.Down(ctx)
}

// List returns the clusters of a state directory, by name. Of the options,
// Root, StateDir and Out count.
func List(o Options) ([]*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.StateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var clusters []*Cluster
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		o.Name = entry.Name()
		c, err := load(o)
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, c)
	}
	return clusters, nil
}

func load(o Options) (*Cluster, error) {
	l := layout{dir: filepath.Join(o.StateDir, o.Name)}
	s, err := loadSettings(l)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", o.Name, err)
	}
	l.ports, l.real = s.Ports, s.Real
	return &Cluster{options: o, layout: l, settings: s}, nil
}

// Name returns the cluster's name.
func (c *Cluster) Name() string {
	return c.options.Name
}

// KubeconfigPath returns the administrator's kubeconfig. It holds all it needs
// and may be copied.
func (c *Cluster) KubeconfigPath() string {
	return c.layout.kubeconfig(admin)
}

// HasRealNode says whether the cluster has a node that runs containers, RealNode.
func (c *Cluster) HasRealNode() bool { return c.settings.Real }

// components returns those that this cluster has.
func (c *Cluster) components() []component { return componentsOf(c.settings.Real) }

// RESTConfig returns the administrator's client configuration, with
// client-go's usual limits. Where the cluster has a real node, the way to it is
// the configuration's own Dial.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("cluster %q: reading its kubeconfig: %w", c.Name(), err)
	}
	if c.settings.Real {
		config.Dial = node.Dialer(c.holder)
	}
	return config, nil
}

// Kubectl prepares a run of kubectl against the cluster.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return c.Command(ctx, findPrograms(c.options.Root).path(build.Kubectl), args...)
}

// Command prepares a run of a program, by path or by name, from where the API
// server can be reached: the network of the cluster's real node, if it has one.
// KUBECONFIG is set to that of the administrator.
func (c *Cluster) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := append([]string{program}, args...)
	if c.settings.Real {
		command = append(c.enterCommand("--network-only"), command...)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath())
	return cmd
}

// Kill sends a signal to a component, without anybody starting it again before
// the next Up. For a signal that ends processes (KILL, TERM, INT, QUIT) it
// returns when the process has ended. It returns ErrNotRunning if there is no
// such process and *UnknownComponentError if there is no such component.
func (c *Cluster) Kill(ctx context.Context, name string, signal syscall.Signal) error {
	if err := checkComponent(name); err != nil {
		return err
	}
	id, found, err := loadRecord(c.layout, name)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("component %s: %w", name, ErrNotRunning)
	}
	err = id.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("component %s: %w", name, ErrNotRunning)
	}
	if err != nil {
		return fmt.Errorf("component %s: %w", name, err)
	}
	switch signal {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT:
		return id.Wait(ctx)
	default:
		return nil
	}
}

// Stop ends the cluster's processes and keeps its data for another Up.
func (c *Cluster) Stop(ctx context.Context) error {
	held, err := c.lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.stopAll(ctx), held.Release())
}

// Down ends the cluster's processes and removes all that belongs to it. A
// cluster that is gone already is not an error.
func (c *Cluster) Down(ctx context.Context) error {
	held, err := c.lock(ctx)
	if err != nil {
		return err
	}
	if err := c.stopAll(ctx); err != nil {
		return errors.Join(err, held.Release())
	}
	return errors.Join(c.remove(), held.Remove())
}

// stopAll ends the processes on record, and those of a real node.
func (c *Cluster) stopAll(ctx context.Context) error {
	err := c.stop(ctx, c.components())
	if c.settings.Real {
		err = errors.Join(err, c.stopNode(ctx))
	}
	return err
}

func (c *Cluster) lock(ctx context.Context) (*lock.Lock, error) {
	return lock.Acquire(ctx, c.layout.dir+".lock", func() {
		c.report("waiting for another command on cluster %s", c.Name())
	})
}

func (c *Cluster) remove() error {
	if err := os.RemoveAll(c.layout.dir); err != nil {
		return fmt.Errorf("removing the state of cluster %q: %w", c.Name(), err)
	}
	return nil
}

// stop ends the processes on record, dependants first, and forgets them. One
// that resists does not keep it from the others.
func (c *Cluster) stop(ctx context.Context, which []component) error {
	failures := make(chan error, len(which)+1)
	failures <- walk(ctx, dependantsFirst(which), func(ctx context.Context, part component) error {
		failures <- c.stopOne(ctx, part)
		return nil
	})
	close(failures)
	var all []error
	for err := range failures {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (c *Cluster) stopOne(ctx context.Context, part component) error {
	id, found, err := loadRecord(c.layout, part.name)
	if err != nil || !found {
		return err
	}
	if err := id.Stop(ctx, part.grace); err != nil {
		return fmt.Errorf("stopping %s: %w", part.name, err)
	}
	if err := os.Remove(c.layout.record(part.name)); err != nil {
		return fmt.Errorf("forgetting %s: %w", part.name, err)
	}
	return nil
}

// identity returns the process of a component if it runs.
func (c *Cluster) identity(name string) (process.Identity, bool, error) {
	id, found, err := loadRecord(c.layout, name)
	return id, found && id.Alive(), err
}

func (c *Cluster) report(format string, args ...any) {
	_, _ = fmt.Fprintf(c.options.Out, format+"\n", args...)
}
