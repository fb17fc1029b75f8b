package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

const (
	// Namespace is where the demo's Sandboxes live. Whatever is in it may be deleted.
	Namespace = "agent-sandbox-demo"
	// ClusterName is that of the demo's own control plane.
	ClusterName = "demo"
)

// Where the controller runs.
const (
	// ControllerLocal runs it as a process of this machine, under its rendered role.
	ControllerLocal = "local"
	// ControllerCluster leaves it to the Deployment of the asset, which needs nodes that run containers and its image.
	ControllerCluster = "cluster"
)

// Forms of the timeline.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Options say how to run the demo.
type Options struct {
	// Root is the repository's.
	Root string
	// Kubeconfig reaches a cluster that exists; empty: one with simulated nodes is started, and removed in the end.
	Kubeconfig string
	// Nodes is the number of simulated nodes.
	Nodes int
	// Manifest is the rendered asset; empty: dist/sandbox-with-extensions.yaml below Root.
	Manifest string
	// Controller is ControllerLocal or ControllerCluster.
	Controller string
	// Binaries is the directory with the programs to run locally, by their names; empty: bin below Root.
	Binaries string
	// Image is that of the pool's Pods, and runs the daemon sandboxd; empty: that of the sample, which does not.
	Image string
	// Output is OutputText or OutputJSON.
	Output string
	// Keep leaves everything running after the timeline until the demo is interrupted.
	Keep bool
	// Timeout bounds every single step.
	Timeout time.Duration
	// Out receives the timeline, Progress all else.
	Out, Progress io.Writer
}

// complete fills in defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Root == "" {
		root, err := devcluster.FindRoot(".")
		if err != nil {
			return o, err
		}
		o.Root = root
	}
	if o.Manifest == "" {
		o.Manifest = filepath.Join(o.Root, "dist", "sandbox-with-extensions.yaml")
	}
	if o.Binaries == "" {
		o.Binaries = filepath.Join(o.Root, "bin")
	}
	if o.Controller != ControllerLocal && o.Controller != ControllerCluster {
		return o, fmt.Errorf("--controller %q: want %s or %s", o.Controller, ControllerLocal, ControllerCluster)
	}
	if o.Output != OutputText && o.Output != OutputJSON {
		return o, fmt.Errorf("--output %q: want %s or %s", o.Output, OutputText, OutputJSON)
	}
	if o.Controller == ControllerCluster && o.Kubeconfig == "" {
		return o, fmt.Errorf("--controller %s needs --kubeconfig of a cluster: simulated nodes run no containers", ControllerCluster)
	}
	if o.Timeout <= 0 {
		return o, fmt.Errorf("--timeout %s: must be above 0", o.Timeout)
	}
	if _, err := os.Stat(o.Manifest); err != nil {
		return o, fmt.Errorf("the rendered asset is missing (`make render` writes it): %w", err)
	}
	for _, controller := range controllers() {
		if _, err := os.Stat(filepath.Join(o.Binaries, controller.name)); err != nil && o.Controller == ControllerLocal {
			return o, fmt.Errorf("a controller is missing (`make build` builds it): %w", err)
		}
	}
	return o, nil
}

func (o Options) report(format string, args ...any) {
	fmt.Fprintf(o.Progress, format+"\n", args...)
}
