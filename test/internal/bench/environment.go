package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// asset is what is installed, below the root: the copy under review of what a release ships.
	asset = "release/testdata/sandbox-with-extensions.yaml"
	// clusterName is the name of a cluster of its own.
	clusterName = "bench"
	// stopPatience bounds how long it may take to put things back.
	stopPatience = 2 * time.Minute
)

// environment is where a run takes place.
type environment struct {
	config  *rest.Config
	clients clients
	// binaries are the controllers, by the names of their Deployments.
	binaries map[string]string
	auditLog string // empty: there is none to read
	// apiServer is a process, or notReadable.
	apiServer int
	// wrong is what the counts have shown that must not be.
	wrong []error
	// undo puts back what was changed, the last first.
	undo []func(context.Context) error
}

// prepare finds or brings up a cluster and installs Agent Sandbox there. leave must be called, even after an error.
func (e *environment) prepare(ctx context.Context, o Options, p progress) error {
	p.say("building the controllers")
	if err := e.build(ctx, o.Root); err != nil {
		return err
	}
	var err error
	if o.Kubeconfig == "" {
		err = e.bringUp(ctx, o)
	} else {
		err = e.connect(o)
	}
	if err != nil {
		return err
	}
	if e.clients, err = newClients(e.config); err != nil {
		return err
	}
	p.say("installing %s", asset)
	if err := e.install(ctx, filepath.Join(o.Root, asset)); err != nil {
		return err
	}
	if err := e.clients.createNamespace(ctx); err != nil {
		return err
	}
	e.undo = append(e.undo, e.clients.deleteNamespace)
	return nil
}

func (e *environment) build(ctx context.Context, root string) error {
	e.binaries = map[string]string{}
	for _, c := range controllers() {
		path, err := install.BuildProgram(ctx, install.Build{Root: root, Program: c.deployment})
		if err != nil {
			return err
		}
		e.binaries[c.deployment] = path
	}
	return nil
}

func (e *environment) connect(o Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	e.config, e.auditLog = config, o.AuditLog
	return nil
}

// bringUp starts a cluster whose API server logs what happens in the benchmark's namespace.
func (e *environment) bringUp(ctx context.Context, o Options) error {
	options := devcluster.Options{Root: o.Root, Name: clusterName, Nodes: o.Nodes, Out: o.Progress}
	if _, err := devcluster.Open(options); !errors.Is(err, devcluster.ErrNotFound) {
		return errors.Join(fmt.Errorf("there is a cluster %q: is another benchmark running? If not: devcluster down --name %s",
			clusterName, clusterName), err)
	}
	dir, err := os.MkdirTemp("", "agent-sandbox-bench-")
	if err != nil {
		return fmt.Errorf("making a directory for the audit log: %w", err)
	}
	e.undo = append(e.undo, func(context.Context) error { return os.RemoveAll(dir) })
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, audit.Policy(namespace), 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	e.auditLog = filepath.Join(dir, "audit.log")
	options.Args = map[string][]string{devcluster.APIServer: {
		"--audit-policy-file=" + policy, "--audit-log-path=" + e.auditLog, "--audit-log-maxsize=100000", // megabytes
	}}
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	e.undo = append(e.undo, cluster.Down)
	if e.config, err = cluster.RESTConfig(); err != nil {
		return err
	}
	e.apiServer, err = apiServerPID(ctx, cluster)
	return err
}

func apiServerPID(ctx context.Context, cluster *devcluster.Cluster) (int, error) {
	status, err := cluster.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, component := range status.Components {
		if component.Name == devcluster.APIServer {
			return component.PID, nil
		}
	}
	return 0, fmt.Errorf("cluster %q has no %s", cluster.Name(), devcluster.APIServer)
}

// install applies the asset, but no Pod of the controller: the one that is measured is a process of this machine.
func (e *environment) install(ctx context.Context, path string) error {
	manifest, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what is to be installed: %w", err)
	}
	objects, err := install.Parse(manifest)
	if err != nil {
		return err
	}
	if err := install.WithoutReplicas(objects); err != nil {
		return err
	}
	return install.ApplyObjects(ctx, e.config, objects)
}

// setting says what the figures depend on.
func (e *environment) setting(ctx context.Context, o Options) (report.Setting, error) {
	version, err := e.clients.kubernetes.Discovery().ServerVersion()
	if err != nil {
		return report.Setting{}, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	nodes, err := e.clients.kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return report.Setting{}, fmt.Errorf("listing nodes: %w", err)
	}
	return report.Setting{
		CPUs: runtime.NumCPU(), Kubernetes: version.GitVersion, Nodes: len(nodes.Items),
		Count: o.Count, Parallel: o.Parallel, Rounds: o.Rounds, ControllerArgs: o.ControllerArgs,
	}, nil
}

// newMeter returns a meter for a side with its controllers.
func (e *environment) newMeter(running []process) (*meter, error) {
	m := &meter{apiServer: e.apiServer, processes: running}
	if e.auditLog == "" {
		return m, nil
	}
	var err error
	m.log, err = audit.Open(e.auditLog)
	return m, err
}

// leave puts everything back, even though ctx may have ended.
func (e *environment) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	var all []error
	for i := len(e.undo) - 1; i >= 0; i-- {
		all = append(all, e.undo[i](ctx))
	}
	return errors.Join(all...)
}
