package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/documents"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// Every block of commands that names this test is run as it stands in its document: from a directory with the files that the document
// shows, the release in dist/ and the sources of it in kustomize/, in a namespace with a Sandbox my-sandbox, on a cluster with both controllers.
func TestTheCommandsOfTheDocuments(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	t.Cleanup(func() { undoDocuments(t) })
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		document, err := documents.Read(path, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		if len(document.Commands) == 0 {
			continue
		}
		blocks += len(document.Commands)
		t.Run(filepath.Base(path), func(t *testing.T) { follow(t, document) })
	}
	if blocks < 12 {
		t.Errorf("only %d blocks of commands were found", blocks)
	}
}

func follow(t *testing.T, d documents.Document) {
	t.Helper()
	namespace := testkit.Namespace(t, user)
	// As a controller of Kubernetes does, which does not run here.
	fixture.Create(t, user, &corev1.ServiceAccount{ObjectMeta: fixture.Named(namespace, "default")})
	shell := newShell(t, namespace)
	for name, content := range d.Files {
		if err := os.WriteFile(filepath.Join(shell.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const sandbox = "my-sandbox.yaml"
	if _, own := d.Files[sandbox]; !own {
		shell.must(t, "kubectl apply -f "+filepath.Join(root, "test", "integration", "testdata", sandbox))
	}
	for _, commands := range d.Commands {
		shell.must(t, commands)
	}
}

// shell runs commands as a user with a kubeconfig does.
type shell struct {
	dir string
	env []string
}

func newShell(t *testing.T, namespace string) shell {
	t.Helper()
	s := shell{dir: t.TempDir()}
	for to, from := range map[string]string{"dist": "release/testdata", "kustomize": "kustomize"} {
		if err := os.CopyFS(filepath.Join(s.dir, to), os.DirFS(filepath.Join(root, filepath.FromSlash(from)))); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(s.dir, "kubeconfig")
	if err := os.WriteFile(config, apiServer.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	assets := os.Getenv(testkit.AssetsVariable)
	if assets == "" {
		assets = filepath.Join(root, "bin", "k8s")
	}
	s.env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+s.dir, "PATH="+assets+string(os.PathListSeparator)+os.Getenv("PATH"))
	s.must(t, "kubectl config set-context --current --namespace="+namespace)
	return s
}

// must runs commands that have to succeed. A conflict with a write of a controller is none of theirs: the documents say to try again.
func (s shell) must(t *testing.T, commands string) {
	t.Helper()
	var failed error
	testkit.Eventually(t, "commands without a conflict", func() error {
		output, err := s.run(t.Context(), commands)
		if err != nil && strings.Contains(output, "the object has been modified") {
			return errors.New(output)
		}
		failed = nil
		if err != nil {
			failed = fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
	if failed != nil {
		t.Fatalf("%s\n%v", commands, failed)
	}
}

func (s shell) run(ctx context.Context, commands string) (string, error) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = s.dir, s.env
	output, err := command.CombinedOutput()
	return string(output), err
}

// undoDocuments leaves the cluster as the suite had made it.
func undoDocuments(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: fixture.Named(install.Namespace, "agent-sandbox-config")},
		&corev1.ConfigMap{ObjectMeta: fixture.Named(install.Namespace, "agent-sandbox-warm-pool-limits")},
		&flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "agent-sandbox"}},
	} {
		if err := client.IgnoreNotFound(user.Delete(ctx, object)); err != nil {
			t.Error(err)
		}
	}
	for _, asset := range []string{coreAsset, extensionsAsset} {
		if err := applyAsset(asset); err != nil {
			t.Error(err)
		}
	}
	awaitLimit(t, "")
	if err := awaitPolicies(ctx); err != nil {
		t.Error(err)
	}
}

// Backup and restore in docs/troubleshooting.md: a disk that is back before its Sandbox, with its labels and without an owner, is the
// Sandbox's again. One without the label is not taken by its name.
func TestARestoredSandboxHasItsDiskAgain(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	lost := fixture.Sandbox(testkit.Namespace(t, user), "box", fixture.WithDisk)
	fixture.Create(t, user, lost)
	fixture.Must(t, user, lost, await.Ready())
	saved := fixture.Must(t, user, diskOf(lost.Namespace), await.Exists[*corev1.PersistentVolumeClaim]())

	box, disk := restore(t, saved, saved.Labels)
	fixture.Must(t, user, box, await.Ready())
	taken := fixture.Must(t, user, diskOf(box.Namespace), await.Exists[*corev1.PersistentVolumeClaim]())
	if owner := metav1.GetControllerOf(taken); taken.UID != disk.UID || owner == nil || owner.UID != box.UID {
		t.Errorf("the disk is %s of %+v, want %s of %s", taken.UID, owner, disk.UID, box.UID)
	}
	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(box.Namespace, "box")}, await.Exists[*corev1.Pod]())
	if volumes := pod.Spec.Volumes; len(volumes) == 0 || volumes[0].PersistentVolumeClaim == nil || volumes[0].PersistentVolumeClaim.ClaimName != taken.Name {
		t.Errorf("the Pod's volumes are %+v", volumes)
	}

	unlabelled, _ := restore(t, saved, nil)
	// Later tests find nothing that a controller complains of.
	t.Cleanup(func() {
		if err := user.Delete(context.WithoutCancel(t.Context()), unlabelled); err != nil {
			t.Error(err)
		}
	})
	fixture.Must(t, user, unlabelled, await.Condition(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, sandboxv1beta1.ReasonReconcilerError))
}

func diskOf(namespace string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: fixture.Named(namespace, fixture.DiskTemplate+"-box")}
}

// restore makes the disk and then the Sandbox in a namespace of their own, as a tool does that keeps labels and drops owners.
func restore(t *testing.T, saved *corev1.PersistentVolumeClaim, labels map[string]string) (*sandboxv1beta1.Sandbox, *corev1.PersistentVolumeClaim) {
	t.Helper()
	disk := diskOf(testkit.Namespace(t, user))
	disk.Labels, disk.Spec = labels, *saved.Spec.DeepCopy()
	fixture.Create(t, user, disk)
	box := fixture.Sandbox(disk.Namespace, "box", fixture.WithDisk)
	fixture.Create(t, user, box)
	return box, disk
}
