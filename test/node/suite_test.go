//go:build node

package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
)

const (
	clusterName = "node"
	// undoTimeout bounds how long it may take to stop what was started.
	undoTimeout = 2 * time.Minute
)

var (
	root    string
	options devcluster.Options
	cluster *devcluster.Cluster
	config  *rest.Config
	user    client.WithWatch
	// unmet says why there can be no real node here: then every test is skipped, and counted as that.
	unmet *node.UnmetError
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run tests on a cluster of their own with a real node, on which the release is installed as users do.
func run(ctx context.Context, m *testing.M) (code int, err error) {
	if errors.As(node.Check(), &unmet) {
		fmt.Fprintf(os.Stderr, "\nWARNING: NOTHING OF THIS IS TESTED: %v\n\n", unmet)
		return m.Run(), nil
	}
	if root, err = testkit.FindRoot(); err != nil {
		return 0, err
	}
	options = devcluster.Options{Root: root, Name: clusterName, Nodes: devcluster.KeepNodes, RealNode: true, Out: os.Stderr}
	if err := devcluster.RemoveLeftover(ctx, options); err != nil {
		return 0, err
	}
	if untouched, err = machine(); err != nil {
		return 0, err
	}
	if cluster, err = devcluster.Up(ctx, options); err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		err = errors.Join(err, cluster.Down(ctx), leftBehind())
	}()
	if config, err = cluster.RESTConfig(); err != nil {
		return 0, err
	}
	config.QPS = -1
	if user, err = await.NewClient(config); err != nil {
		return 0, err
	}
	if err := loadImages(ctx); err != nil {
		return 0, err
	}
	if err := installRelease(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// loadImages builds the images of the release and gives them to the node.
func loadImages(ctx context.Context) error {
	dir := filepath.Join(root, "bin", "node-images")
	build := exec.CommandContext(ctx, "make", "--no-print-directory", "images", "ARGS=--platforms linux/amd64 --output "+dir)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building images: %w\n%s", err, output)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		return err
	}
	return cluster.ImportImages(ctx, archives...)
}

// installRelease does what the README says, and waits for what it installs.
func installRelease(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "-f", filepath.Join(root, "release", "testdata", "sandbox-with-extensions.yaml")},
		{"-n", "agent-sandbox-system", "wait", "--for=condition=Available", "--timeout=2m", "deployment", "--all"},
	} {
		if output, err := cluster.Kubectl(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %v: %w\n%s", args, err, output)
		}
	}
	return nil
}

// newNamespace makes a namespace for a test, and deletes it in the end. Where there can be no real node, it skips the test.
func newNamespace(t *testing.T) string {
	t.Helper()
	if unmet != nil {
		t.Skip(unmet)
	}
	name := testkit.Namespace(t, user)
	t.Cleanup(func() {
		// It takes its Pods along, or those of the tests to come would share the node with them.
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := user.Delete(context.Background(), namespace); err != nil {
			t.Errorf("deleting namespace %s: %v", name, err)
		}
	})
	return name
}
