package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/lock"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// asset is what is installed, below the root: the copy under review of what a release ships.
	asset = "release/testdata/sandbox-with-extensions.yaml"
	// clusterName is the name of a cluster of its own.
	clusterName = "chaos"
)

// environment is where variants are played.
type environment struct {
	options Options
	// undo puts back what was changed, the last first.
	undo []func(context.Context) error
}

// prepare finds or brings up a cluster and installs Agent Sandbox there. leave must be called, even after an error.
func (e *environment) prepare(ctx context.Context) (Stage, error) {
	var stage Stage
	var err error
	if stage.LogDir, err = logDir(e.options.Root); err != nil {
		return stage, err
	}
	stage.Binaries = map[string]string{}
	for _, controller := range Claims.controllers() {
		if stage.Binaries[controller], err = install.BuildProgram(ctx, install.Build{Root: e.options.Root, Program: controller}); err != nil {
			return stage, err
		}
	}
	if e.options.Kubeconfig == "" {
		stage.AuditLog = filepath.Join(stage.LogDir, "audit.log")
		stage.Cluster = &devcluster.Options{Root: e.options.Root, Name: clusterName, Nodes: e.options.Nodes, Out: e.options.Progress}
		stage.Config, err = e.bringUp(ctx, stage)
	} else {
		stage.Config, err = clientcmd.BuildConfigFromFlags("", e.options.Kubeconfig)
	}
	if err != nil {
		return stage, err
	}
	stage.Config.QPS = -1
	return stage, e.install(ctx, stage.Config)
}

// bringUp starts a cluster whose API server logs what happens in the namespaces of the runs.
func (e *environment) bringUp(ctx context.Context, stage Stage) (*rest.Config, error) {
	options := *stage.Cluster
	// Two runs at the same time would take the cluster from each other. A lock ends with its process, however that ends.
	held, err := lock.Acquire(ctx, filepath.Join(stage.LogDir, "lock"), func() {
		fmt.Fprintln(e.options.Progress, "chaos: waiting for another run to end")
	})
	if err != nil {
		return nil, err
	}
	e.undo = append(e.undo, func(context.Context) error { return held.Release() })
	if err := devcluster.RemoveLeftover(ctx, options); err != nil {
		return nil, err
	}
	if options.Args, err = auditArgs(stage); err != nil {
		return nil, err
	}
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return nil, err
	}
	e.undo = append(e.undo, cluster.Down)
	return cluster.RESTConfig()
}

// auditArgs are flags for an API server that logs in a file of this run.
func auditArgs(stage Stage) (map[string][]string, error) {
	policy := filepath.Join(stage.LogDir, "audit-policy.yaml")
	if err := os.WriteFile(policy, audit.Policy(namespaces()...), 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	if err := os.Remove(stage.AuditLog); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the last audit log: %w", err)
	}
	return map[string][]string{devcluster.APIServer: {
		"--audit-policy-file=" + policy, "--audit-log-path=" + stage.AuditLog, "--audit-log-maxsize=100000", // megabytes
	}}, nil
}

// install applies the asset, but no Pod of the controller: those that are killed are processes of this machine.
func (e *environment) install(ctx context.Context, config *rest.Config) error {
	if err := refuseSecondController(ctx, config); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(e.options.Root, asset))
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
	return install.ApplyObjects(ctx, config, objects)
}

// refuseSecondController fails on a cluster whose own controller is at work: nothing would be without one for a moment.
func refuseSecondController(ctx context.Context, config *rest.Config) error {
	c, err := await.NewClient(config)
	if err != nil {
		return err
	}
	for _, controller := range Claims.controllers() {
		replicas, err := install.Replicas(ctx, c, controller)
		if err != nil {
			return err
		}
		if replicas > 0 {
			return fmt.Errorf("the cluster runs Deployment %s/%s: scale it to 0 first", install.Namespace, controller)
		}
	}
	return nil
}

// leave puts everything back, even though ctx may have ended.
func (e *environment) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	var all []error
	for i := len(e.undo) - 1; i >= 0; i-- {
		all = append(all, e.undo[i](ctx))
	}
	return errors.Join(all...)
}
