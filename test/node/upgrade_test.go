//go:build node

package node_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// earlier is a commit whose release is upgraded to the present one, and the tag of its images.
const (
	earlier    = "18acd44"
	earlierTag = "earlier"
)

// earlierRelease builds the images and the assets of the earlier commit, gives the images to the node, and returns where the assets are.
func earlierRelease(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "earlier")
	run := func(in string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = in
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
	}
	run(root, "git", "clone", "--quiet", "--no-checkout", "--shared", ".", dir)
	run(dir, "git", "checkout", "--quiet", earlier)
	run(dir, "make", "--no-print-directory", "images", "render", "TAG="+earlierTag, "ARGS=--platforms linux/amd64")
	archives, err := filepath.Glob(filepath.Join(dir, "dist", "images", "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.ImportImages(t.Context(), archives...); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}

// lives are how often the containers of each Pod of a namespace were started, by the Pod's name and UID.
func lives(t *testing.T, namespace string) map[string]int32 {
	t.Helper()
	pods := &corev1.PodList{}
	if err := user.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	starts := map[string]int32{}
	for _, pod := range pods.Items {
		for _, container := range pod.Status.ContainerStatuses {
			starts[pod.Name+" "+string(pod.UID)] += container.RestartCount + 1
		}
	}
	return starts
}

func TestAnUpgradeRestartsNoPod(t *testing.T) {
	namespace := newNamespace(t)
	before := earlierRelease(t)
	reinstalled(t)
	apply(t, before, coreAsset)
	apply(t, before, extensionsAsset)
	sandbox := box(namespace, "box", withDisk, fixture.WithService)
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	claim := served(t, namespace, "claimed", underGVisor)
	fixture.Must(t, user, fixture.Pool(fixture.Template(namespace, "claimed"), "claimed", 1), await.Members(1))
	started := lives(t, namespace)

	for _, step := range []struct{ name, release, asset string }{
		{"the core first", now(), coreAsset},
		{"both", now(), extensionsAsset},
		{"the core goes back", before, coreAsset},
		{"both again", now(), coreAsset},
	} {
		apply(t, step.release, step.asset)
		// What came for the steps before is another matter.
		of := maps.Clone(lives(t, namespace))
		maps.DeleteFunc(of, func(pod string, _ int32) bool { _, known := started[pod]; return !known })
		if diff := cmp.Diff(started, of); diff != "" {
			t.Errorf("%s: Pods, and how often they were started (-before +after):\n%s", step.name, diff)
		}
		if again := fixture.Must(t, user, claim, await.Served()); podOf(again) != podOf(claim) {
			t.Errorf("%s: the claim has Sandbox %s, and had %s", step.name, podOf(again), podOf(claim))
		}
		fixture.Must(t, user, sandbox, await.Ready())
		other := newNamespace(t)
		served(t, other, "new")
	}
}
