package integration_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// plain is a manifest of a Sandbox as users write it; metadata is appended.
func plain(name, metadata string) string {
	return "apiVersion: agents.x-k8s.io/v1beta1\nkind: Sandbox\nmetadata:\n  name: " + name + "\n" + metadata +
		"spec:\n  podTemplate:\n    spec:\n      containers: [{name: main, image: 'registry.k8s.io/pause:3.10'}]\n"
}

func TestExamplesApply(t *testing.T) {
	for _, file := range []string{"my-sandbox.yaml", "my-workspace.yaml", "my-agents.yaml"} {
		for _, mode := range []string{"--server-side=false", "--server-side=true"} {
			t.Run(file+" "+mode, func(t *testing.T) {
				namespace := testkit.Namespace(t, user)
				path := filepath.Join(root, "test", "internal", "demo", "samples", file)
				for range 2 {
					mustKubectl(t, "", "-n", namespace, "apply", mode, "-f", path)
				}
			})
		}
	}
}

func TestApplyingForgedMetadataIsRefused(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	for _, mode := range []string{"--server-side=false", "--server-side=true"} {
		t.Run(mode, func(t *testing.T) {
			forged := plain("forged", "  labels: {agents.x-k8s.io/claim-uid: x}\n")
			checkSays(t, forged, `metadata.labels[agents.x-k8s.io/claim-uid]: "x"`+leaveKeyOut, "-n", namespace, "apply", mode, "-f", "-")
		})
	}
}

// checkSays expects kubectl to fail with this in what it says.
func checkSays(t *testing.T, stdin, want string, args ...string) {
	t.Helper()
	output, err := kubectl(t, stdin, args...)
	if err == nil || !strings.Contains(output, want) || !strings.Contains(output, "Forbidden") {
		t.Errorf("kubectl %s: %v, it says %q; want it to be Forbidden with %q", strings.Join(args, " "), err, output, want)
	}
}

// A user who applies a manifest over a Sandbox that a pool or claim has since marked changes nothing that is reserved.
func TestApplyingOverAMemberKeepsWhatIsReserved(t *testing.T) {
	member := memberOf(t, newPool(t, 0), "member")
	in := []string{"-n", member.Namespace}
	mustKubectl(t, plain("member", "  labels: {mine: client}\n"), append(in, "apply", "--server-side=false", "-f", "-")...)
	mustKubectl(t, plain("member", "  labels: {mine: server}\n"), append(in, "apply", "--server-side=true", "--force-conflicts", "-f", "-")...)
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(member), member); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"mine": "server", sandboxv1beta1.LabelWarmPool: "0123abcd"}
	if !maps.Equal(member.Labels, want) || len(member.OwnerReferences) != 1 || member.Annotations[sandboxv1beta1.AnnotationPodName] != "member" {
		t.Errorf("labels %v, annotations %v, owners %v: want labels %v and the rest as before", member.Labels, member.Annotations, member.OwnerReferences, want)
	}
	mustKubectl(t, "", append(in, "patch", "sandbox", "member", "--type=merge", "-p", `{"spec":{"operatingMode":"Suspended"}}`)...)
	checkSays(t, "", "may be removed by the controllers of Agent Sandbox alone", append(in, "label", "sandbox", "member", sandboxv1beta1.LabelWarmPool+"-")...)
	checkSays(t, "", controllersAlone+`leave it at "0123abcd"`, append(in, "label", "--overwrite", "sandbox", "member", sandboxv1beta1.LabelWarmPool+"=x")...)
	checkSays(t, plain("member", ""), "may be removed by the controllers of Agent Sandbox alone", append(in, "replace", "-f", "-")...)
	mustKubectl(t, "", append(in, "delete", "sandbox", "member")...)
}
