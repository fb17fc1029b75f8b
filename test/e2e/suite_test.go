//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	clusterName = "e2e"
	nodes       = 10
	// undoTimeout bounds how long it may take to stop what was started.
	undoTimeout = time.Minute
)

var (
	user       client.WithWatch
	config     *rest.Config
	kubeconfig string
	controller runner
	// own is the cluster of these tests; nil: they were given one.
	own *devcluster.Options
)

// runner is the controller that tests have beside them, and what it is started with.
type runner struct {
	install.ControllerOptions
	// suite ends when the tests are interrupted.
	suite   context.Context
	process *install.Controller
}

func (r *runner) start() (err error) {
	r.process, err = install.StartController(r.suite, config, r.ControllerOptions)
	return err
}

func (r *runner) stop() error {
	if r.process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.suite), undoTimeout)
	defer cancel()
	return r.process.Stop(ctx)
}

// pauseController stops the controller until the test ends, for a test that runs its own.
func pauseController(t *testing.T) {
	t.Helper()
	if err := controller.stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := controller.start(); err != nil {
			t.Error(err)
		}
	})
}

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run tests on a cluster with a controller, and ends all that it started. An interrupt ends the controller, so that the
// tests fail.
func run(ctx context.Context, m *testing.M) (code int, err error) {
	root, err := testkit.FindRoot()
	if err != nil {
		return 0, err
	}
	path, undo, err := openCluster(ctx, root)
	if err != nil {
		return 0, err
	}
	kubeconfig = path
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		err = errors.Join(err, undo(ctx))
	}()
	if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return 0, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	if user, err = await.NewClient(config); err != nil {
		return 0, err
	}
	if err := startController(ctx, root); err != nil {
		return 0, err
	}
	code = m.Run()
	return code, controller.stop()
}

// openCluster returns the kubeconfig of the cluster to test on, and what ends the cluster. It is one of the tests' own, unless
// --kubeconfig names another; the variable KUBECONFIG, which may stand for a cluster that people use, is left alone.
func openCluster(ctx context.Context, root string) (string, func(context.Context) error, error) {
	if given := flag.Lookup(clientconfig.KubeconfigFlagName).Value.String(); given != "" {
		return given, func(context.Context) error { return nil }, nil
	}
	options := devcluster.Options{Root: root, Name: clusterName, Nodes: nodes, Out: os.Stderr}
	if err := devcluster.RemoveLeftover(ctx, options); err != nil {
		return "", nil, err
	}
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return "", nil, err
	}
	own = &options
	return cluster.KubeconfigPath(), cluster.Down, nil
}

// startController installs the asset, with no replicas of its Deployments, and runs the core's controller on this machine.
func startController(ctx context.Context, root string) error {
	manifest, err := os.ReadFile(filepath.Join(root, "release", "testdata", "sandbox-with-extensions.yaml"))
	if err != nil {
		return err
	}
	objects, err := install.Parse(manifest)
	if err != nil {
		return err
	}
	if err := install.WithoutReplicas(objects); err != nil {
		return err
	}
	if err := install.ApplyObjects(ctx, config, objects); err != nil {
		return err
	}
	binary, err := install.BuildProgram(ctx, install.Build{Root: root, Race: raceDetector})
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(root, "bin", "e2e-controller.log"))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "the controller's log is", out.Name())
	controller = runner{suite: ctx, ControllerOptions: install.ControllerOptions{Binary: binary, Log: out}}
	return controller.start()
}

// newNamespace makes a namespace in which Pods are admitted, and deletes it in the end.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := testkit.Namespace(t, user)
	t.Cleanup(func() {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := user.Delete(context.Background(), object); err != nil {
			t.Errorf("deleting namespace %s: %v", namespace, err)
		}
	})
	account := &corev1.ServiceAccount{ObjectMeta: fixture.Named(namespace, "default")}
	fixture.Must(t, user, account, await.Exists[*corev1.ServiceAccount]())
	return namespace
}
