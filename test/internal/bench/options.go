package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

// Options say what is measured, and where.
type Options struct {
	// Root is the repository's: the controller is built from it, and a cluster of its own kept in it.
	Root string
	// Cases are the names of the benchmarks to run; none: all.
	Cases []string
	// Count is how many objects a round has, Parallel how many are under way at a time.
	Count, Parallel int
	// Rounds is how often each side has its turn.
	Rounds int
	// Duration is how long objects come where they come at a rate, Scale how many Sandboxes there are in the end where the
	// measured ones are among many.
	Duration time.Duration
	Scale    int
	// Nodes is the number of simulated nodes of a cluster of its own, at least.
	Nodes int
	// Kubeconfig reaches an existing cluster on which no Agent Sandbox controller works; empty: a cluster of its own.
	Kubeconfig string
	// AuditLog is the file in which the API server of an existing cluster logs at least the metadata of each request,
	// once it is answered; empty: requests are not counted there.
	AuditLog string
	// ControllerArgs are flags of the controller that differ from what it is shipped with.
	ControllerArgs []string
	// Progress receives what is being done, line by line; io.Discard for nothing.
	Progress io.Writer
}

// validate refuses what cannot work, by the name of the flag.
func (o Options) validate() error {
	switch {
	case o.Progress == nil:
		return errors.New("no writer for progress: pass io.Discard for none")
	case o.Count < 1:
		return fmt.Errorf("--count=%d: must be above 0", o.Count)
	case o.Parallel < 1:
		return fmt.Errorf("--parallel=%d: must be above 0", o.Parallel)
	case o.Rounds < 1:
		return fmt.Errorf("--rounds=%d: must be above 0", o.Rounds)
	case o.Duration <= 0:
		return fmt.Errorf("--duration=%s: must be above 0", o.Duration)
	case o.Scale < 1:
		return fmt.Errorf("--scale=%d: must be above 0", o.Scale)
	case o.Nodes < 1:
		return fmt.Errorf("--nodes=%d: must be above 0", o.Nodes)
	case o.AuditLog != "" && o.Kubeconfig == "":
		return fmt.Errorf("--audit-log=%s: is for an existing cluster, see --kubeconfig", o.AuditLog)
	}
	_, err := choose(o.Cases)
	return err
}

// withRoom asks for as many nodes as the chosen benchmarks have Pods for.
func (o Options) withRoom(chosen []benchmark) Options {
	for _, b := range chosen {
		o.Nodes = max(o.Nodes, (b.load(o).pods()+devcluster.PodsOfNode-1)/devcluster.PodsOfNode)
	}
	return o
}

// room is for how many Pods there are nodes; what an existing cluster has room for is not known.
func (o Options) room() int {
	if o.Kubeconfig != "" {
		return math.MaxInt
	}
	return o.Nodes * devcluster.PodsOfNode
}
