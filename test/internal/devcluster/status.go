package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// State is what is seen of a component.
type State string

const (
	// Healthy components run and answer.
	Healthy State = "healthy"
	// Unhealthy components run but do not answer as they should.
	Unhealthy State = "unhealthy"
	// Dead components have ended without being asked to.
	Dead State = "dead"
	// Stopped components are not meant to run.
	Stopped State = "stopped"
)

// Status is what is seen of a cluster.
type Status struct {
	Name       string            `json:"name"`
	Healthy    bool              `json:"healthy"`
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	Nodes      int               `json:"simulatedNodes"`
	RealNode   bool              `json:"realNode"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is what is seen of a component.
type ComponentStatus struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Detail says why a component is unhealthy.
	Detail string `json:"detail,omitempty"`
	PID    int    `json:"pid,omitempty"`
	// Port is 0 for a component that does not listen.
	Port int `json:"port,omitempty"`
	// UpSeconds is the time since it was started.
	UpSeconds float64 `json:"upSeconds,omitempty"`
	Log       string  `json:"log"`
}

// Status looks at all components of the cluster as they are now.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	status := Status{
		Name: c.Name(), Healthy: true, Kubeconfig: c.KubeconfigPath(),
		Server: c.layout.url("https", APIServer), Nodes: c.settings.Nodes, RealNode: c.settings.Real,
		Components: make([]ComponentStatus, len(c.components())),
	}
	client, err := c.healthClient()
	if errors.Is(err, fs.ErrNotExist) {
		client, err = http.DefaultClient, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("cluster %q: %w", c.Name(), err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, part := range c.components() {
		group.Go(func() error {
			var err error
			status.Components[i], err = c.componentStatus(ctx, client, part)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Status{}, fmt.Errorf("cluster %q: %w", c.Name(), err)
	}
	for _, part := range status.Components {
		status.Healthy = status.Healthy && part.State == Healthy
	}
	return status, nil
}

func (c *Cluster) componentStatus(ctx context.Context, client *http.Client, part component) (ComponentStatus, error) {
	status := ComponentStatus{Name: part.name, State: Stopped, Port: c.layout.ports[part.name], Log: c.layout.log(part.name)}
	id, found, err := loadRecord(c.layout, part.name)
	if err != nil || !found {
		return status, err
	}
	if !id.Alive() {
		status.State = Dead
		return status, nil
	}
	status.State, status.PID = Healthy, id.PID
	// The record is written when the process has just started.
	if info, err := os.Stat(c.layout.record(part.name)); err == nil {
		status.UpSeconds = time.Since(info.ModTime()).Seconds()
	}
	if err := probe(ctx, client, c.layout.healthURL(part)); err != nil {
		status.State, status.Detail = Unhealthy, err.Error()
	}
	return status, nil
}
