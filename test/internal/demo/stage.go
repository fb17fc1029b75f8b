package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/lock"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// cleanUpTimeout bounds how long it may take to stop what was started.
	cleanUpTimeout = 60 * time.Second
	// rolloutTimeout is how long nodes may need to pull the controller's image and start it.
	rolloutTimeout = 3 * time.Minute
)

// controllers are those that an installation consists of.
func controllers() []controllerNames {
	return []controllerNames{
		{install.CoreController, install.CoreLease, "demo-controller.log"},
		{install.ExtensionsController, install.ExtensionsLease, "demo-extensions-controller.log"},
	}
}

// controllerNames are those of a controller: of its binary, ServiceAccount and Deployment, of its Lease, and of its log.
type controllerNames struct{ name, lease, log string }

// stage is what the demo plays on: a cluster with its controllers.
type stage struct {
	options    Options
	kubeconfig string
	config     *rest.Config
	client     client.WithWatch
	// local are the controllers that run on this machine; none if the cluster runs them.
	local []*install.Controller
	// refresh makes a cluster of the demo's own learn of new kinds.
	refresh func(context.Context) error
	// undo ends what was started, in reverse.
	undo []func(context.Context) error
}

// setUp prepares the stage. The caller tears it down even after an error.
func (s *stage) setUp(ctx context.Context) error {
	if err := s.openCluster(ctx); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig %s: %w", s.kubeconfig, err)
	}
	s.config = config
	if s.client, err = await.NewClient(config); err != nil {
		return err
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	for _, controller := range controllers() {
		if s.options.Controller == ControllerCluster {
			err = s.awaitDeployment(ctx, controller)
		} else {
			err = s.startController(ctx, controller)
		}
		if err != nil {
			return err
		}
	}
	return s.makeNamespace(ctx)
}

// tearDown ends all that was started, also after an interrupt.
func (s *stage) tearDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	var all []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		all = append(all, s.undo[i](ctx))
	}
	return errors.Join(all...)
}

// openCluster starts a cluster of its own unless the user gave one.
func (s *stage) openCluster(ctx context.Context) error {
	if s.options.Kubeconfig != "" {
		s.kubeconfig = s.options.Kubeconfig
		s.refresh = func(context.Context) error { return nil }
		return nil
	}
	options := devcluster.Options{Root: s.options.Root, Name: ClusterName, Nodes: s.options.Nodes, Out: s.options.Progress}
	// Two demos at the same time would take the cluster from each other. A lock ends with its process, however that ends.
	held, err := lock.Acquire(ctx, filepath.Join(s.options.Root, "bin", "demo.lock"), func() {
		s.options.report("waiting for another demo to end")
	})
	if err != nil {
		return err
	}
	s.undo = append(s.undo, func(context.Context) error { return held.Release() })
	if err := devcluster.RemoveLeftover(ctx, options); err != nil {
		return err
	}
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	s.undo = append(s.undo, cluster.Down)
	s.kubeconfig = cluster.KubeconfigPath()
	s.refresh = func(ctx context.Context) error {
		// The garbage collector looks for new kinds when it starts, and then only every 30 s.
		s.options.report("restarting kube-controller-manager, so that its garbage collector learns of the new kinds at once")
		if err := cluster.Kill(ctx, devcluster.ControllerManager, syscall.SIGTERM); err != nil {
			return err
		}
		_, err := devcluster.Up(ctx, options)
		return err
	}
	return nil
}

// install applies the asset.
func (s *stage) install(ctx context.Context) error {
	manifest, err := os.ReadFile(s.options.Manifest)
	if err != nil {
		return fmt.Errorf("reading the rendered asset: %w", err)
	}
	objects, err := install.Parse(manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", s.options.Manifest, err)
	}
	if s.options.Controller == ControllerLocal {
		if err := s.refuseSecondController(ctx); err != nil {
			return err
		}
		if err := install.WithoutReplicas(objects); err != nil {
			return err
		}
	}
	if err := install.ApplyObjects(ctx, s.config, objects); err != nil {
		return err
	}
	s.options.report("applied the %d objects of %s", len(objects), s.options.Manifest)
	return s.refresh(ctx)
}

// refuseSecondController fails on a cluster whose own controller is at work: a local one would have to switch it off.
func (s *stage) refuseSecondController(ctx context.Context) error {
	for _, controller := range controllers() {
		replicas, err := install.Replicas(ctx, s.client, controller.name)
		switch {
		case err != nil:
			return err
		case replicas > 0:
			return fmt.Errorf("the cluster runs Deployment %s/%s already: use it with --controller=%s, or scale it to 0 first",
				install.Namespace, controller.name, ControllerCluster)
		}
	}
	return nil
}

// startController runs a controller on this machine.
func (s *stage) startController(ctx context.Context, c controllerNames) error {
	log, err := os.Create(filepath.Join(s.options.Root, "bin", c.log))
	if err != nil {
		return fmt.Errorf("creating a controller's log: %w", err)
	}
	s.undo = append(s.undo, func(context.Context) error { return log.Close() })
	controller, err := install.StartController(ctx, s.config, install.ControllerOptions{
		Binary: filepath.Join(s.options.Binaries, c.name), ServiceAccount: c.name, Log: log, ReadyTimeout: s.options.Timeout,
	})
	if err != nil {
		return err
	}
	s.local = append(s.local, controller)
	s.undo = append(s.undo, controller.Stop)
	s.options.report("%s runs as process %d of this machine under the role of its ServiceAccount, log %s; its Deployment has 0 replicas",
		c.name, controller.PID(), log.Name())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: install.Namespace, Name: c.lease}}
	_, err = await.Until(ctx, s.client, lease, s.options.Timeout, held)
	return err
}

// held : a controller is at work. Until then the timeline would show how long an election takes.
func held(lease *coordinationv1.Lease) string {
	if lease == nil || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return "nobody holds it"
	}
	return ""
}

// awaitDeployment waits until the cluster runs a controller.
func (s *stage) awaitDeployment(ctx context.Context, c controllerNames) error {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: install.Namespace, Name: c.name}}
	s.options.report("waiting until Deployment %s is available", deployment.Name)
	_, err := await.Until(ctx, s.client, deployment, rolloutTimeout, available)
	return err
}

func available(seen *appsv1.Deployment) string {
	if seen == nil {
		return "it does not exist"
	}
	for _, c := range seen.Status.Conditions {
		current := seen.Status.ObservedGeneration == seen.Generation
		if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue && current {
			return ""
		}
	}
	return "its condition Available is not True"
}
