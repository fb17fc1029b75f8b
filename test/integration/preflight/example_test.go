package preflight_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the example in docs/preflight.md")

// example is a cluster with an older installation, on which most is well.
const example = `apiVersion: v1
kind: Node
metadata:
  name: worker-1
  labels: {kubernetes.io/os: linux, kubernetes.io/arch: amd64}
status:
  conditions: [{type: Ready, status: "True"}]
  allocatable: {cpu: "4", memory: 16Gi}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: example.com/disks
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: Service
metadata: {namespace: kube-system, name: kube-dns, labels: {k8s-app: kube-dns}}
spec: {ports: [{name: dns, port: 53, protocol: UDP}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: kube-system, name: coredns}
data: {Corefile: ".:53 {\n  kubernetes cluster.local in-addr.arpa ip6.arpa {\n  }\n}\n"}
`

const (
	exampleBegin = "```text\n$ bin/preflight --for sandbox\n"
	exampleEnd   = "```\n"
)

// exampleCluster has two Sandboxes that are stored as v1alpha1.
func exampleCluster(t *testing.T) cluster {
	t.Helper()
	c := newCluster(t)
	c.create(t, example)
	// The API server holds a node that is new for not ready until a controller looks.
	c.shell(t, "kubectl taint node worker-1 node.kubernetes.io/not-ready:NoSchedule-", "")
	c.install(t, withVersions(t, "v1alpha1"))
	c.create(t, boxes("a", "b"))
	return c
}

// checkExample: the example in the documentation is what the command prints.
func checkExample(t *testing.T, c cluster) {
	t.Helper()
	want := c.preflight(t, 1, "--for", "sandbox")
	path := filepath.Join(root, "docs", "preflight.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), exampleBegin)
	got, after, ended := strings.Cut(rest, exampleEnd)
	if !found || !ended {
		t.Fatalf("%s has no block that begins with %q", path, exampleBegin)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+exampleBegin+want+exampleEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run the tests of this package with -update (-printed +documented):\n%s", diff)
	}
}
