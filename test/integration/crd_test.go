package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

const serviceNameRule = "spec.service: true needs a name that is a DNS label (63 characters at most, no dot)"

// checkRefused expects an error that contains want; empty: no error.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if problem := refusal(err, want); problem != nil {
		t.Error(problem)
	}
}

// refusal returns what is wrong about an answer that checkRefused is to judge.
func refusal(err error, want string) error {
	switch {
	case want == "" && err != nil:
		return fmt.Errorf("refused: %w", err)
	case want != "" && err == nil:
		return fmt.Errorf("taken, want it refused with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		return fmt.Errorf("want it refused with %q: %w", want, err)
	}
	return nil
}

func TestCreateIsValidated(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	label63, label64 := strings.Repeat("a", 63), strings.Repeat("b", 64)
	type modify = func(*sandboxv1beta1.Sandbox)
	cases := map[string]struct {
		name    string
		modify  modify
		refused string
	}{
		"a Service with a name of 63 characters":    {label63, fixture.WithService, ""},
		"a Service with a name over 63 characters":  {label64, fixture.WithService, serviceNameRule},
		"a Service with a dot in the name":          {"a.b", fixture.WithService, serviceNameRule},
		"a Service with a digit first":              {"1a", fixture.WithService, ""},
		"no Service with a name over 63 characters": {label64, func(*sandboxv1beta1.Sandbox) {}, ""},
		"no Service with a dot in the name":         {"a.b", func(*sandboxv1beta1.Sandbox) {}, ""},
		"a Service refused with a dot in the name":  {"c.d", func(s *sandboxv1beta1.Sandbox) { s.Spec.Service = ptr.To(false) }, ""},
		"an unknown operatingMode":                  {"mode", fixture.WithMode("Paused"), `spec.operatingMode: Unsupported value: "Paused": supported values: "Running", "Suspended"`},
		"an unknown shutdownPolicy":                 {"policy", func(s *sandboxv1beta1.Sandbox) { s.Spec.ShutdownPolicy = "Keep" }, `spec.shutdownPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"`},
		"an unknown podFailurePolicy":               {"failure", func(s *sandboxv1beta1.Sandbox) { s.Spec.PodFailurePolicy = "Retry" }, `spec.podFailurePolicy: Unsupported value: "Retry": supported values: "Ignore", "Recreate"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkRefused(t, user.Create(t.Context(), fixture.Sandbox(namespace, c.name, c.modify)), c.refused)
		})
	}
}

func TestPodTemplateSpecIsRequired(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	cases := map[string]struct {
		spec    map[string]any
		refused string
	}{
		"no podTemplate":                {map[string]any{}, "spec.podTemplate: Required value"},
		"a podTemplate without a spec":  {map[string]any{"podTemplate": map[string]any{}}, "spec.podTemplate.spec: Required value"},
		"a Pod spec without containers": {map[string]any{"podTemplate": map[string]any{"spec": map[string]any{}}}, "spec.podTemplate.spec.containers: Required value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
			object.SetGroupVersionKind(sandboxv1beta1.GroupVersion.WithKind("Sandbox"))
			object.SetNamespace(namespace)
			object.SetName("box")
			checkRefused(t, user.Create(t.Context(), object), c.refused)
		})
	}
}

func TestDefaults(t *testing.T) {
	sandbox := fixture.Sandbox(testkit.Namespace(t, user), "box")
	fixture.Create(t, user, sandbox)
	want := fixture.Sandbox("", "").Spec
	want.OperatingMode = sandboxv1beta1.OperatingModeRunning
	want.ShutdownPolicy = sandboxv1beta1.ShutdownPolicyRetain
	want.PodFailurePolicy = sandboxv1beta1.PodFailurePolicyIgnore
	if diff := cmp.Diff(want, sandbox.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// A client that leaves empty lists out must be able to write back what one that does not has written.
func TestAnEmptyListOfVolumeClaimTemplatesIsNone(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	sandbox := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, sandbox)
	for _, list := range []string{"[]", "null", "[]"} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"volumeClaimTemplates":`+list+`}}`))
		if err := user.Patch(t.Context(), sandbox, patch); err != nil {
			t.Errorf("setting the list to %s: %v", list, err)
		}
	}
}

func TestVolumeClaimTemplatesAreImmutable(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	change := func(s *sandboxv1beta1.Sandbox) { s.Spec.VolumeClaimTemplates[0].Metadata.Name = "other" }
	unset := func(s *sandboxv1beta1.Sandbox) { s.Spec.VolumeClaimTemplates = nil }
	cases := []struct {
		name    string
		before  func(*sandboxv1beta1.Sandbox)
		edit    func(*sandboxv1beta1.Sandbox)
		refused bool
	}{
		{"set to changed", fixture.WithDisk, change, true},
		{"set to more", fixture.WithDisk, fixture.WithDisk, true},
		{"set to unset", fixture.WithDisk, unset, true},
		{"unset to set", unset, fixture.WithDisk, true},
		{"set and another field changed", fixture.WithDisk, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended), false},
		{"unset and another field changed", unset, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended), false},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sandbox := fixture.Sandbox(namespace, "box-"+string(rune('a'+i)), c.before)
			fixture.Create(t, user, sandbox)
			err := fixture.Edit(t, user, sandbox, c.edit)
			want := ""
			if c.refused {
				want = `Sandbox.agents.x-k8s.io "` + sandbox.Name + `" is invalid: spec: Invalid value: volumeClaimTemplates is immutable`
			}
			if got := messageOf(err); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestServiceCannotBeAskedForLaterUnderANameThatCannotHaveOne(t *testing.T) {
	sandbox := fixture.Sandbox(testkit.Namespace(t, user), "a.b")
	fixture.Create(t, user, sandbox)
	checkRefused(t, fixture.Edit(t, user, sandbox, fixture.WithService), serviceNameRule)
	checkRefused(t, fixture.Edit(t, user, sandbox, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended)), "")
}

func TestColumns(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	sandbox := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, sandbox)
	before := sandbox.DeepCopy()
	sandbox.Status.NodeName, sandbox.Status.PodIPs = "node-1", []string{"10.0.0.1", "fd00::1"}
	sandbox.Status.Conditions = []metav1.Condition{
		{Type: sandboxv1beta1.ConditionSuspended, Status: metav1.ConditionFalse, Reason: "NotSuspended", LastTransitionTime: metav1.Now()},
		{Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "DependenciesReady", LastTransitionTime: metav1.Now()},
	}
	if err := user.Status().Patch(t.Context(), sandbox, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	table := getTable(t, namespace)
	var got [][]any
	for i, column := range table.ColumnDefinitions {
		cell := table.Rows[0].Cells[i]
		if column.Name == "Age" {
			cell = "some"
		}
		got = append(got, []any{column.Name, column.Priority, cell})
	}
	want := [][]any{
		{"Name", int32(0), "box"}, {"Ready", int32(0), "True"}, {"Reason", int32(0), "DependenciesReady"}, {"Age", int32(0), "some"},
		{"Node", int32(1), "node-1"}, {"PodIP", int32(1), "10.0.0.1"}, {"Mode", int32(1), "Running"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// getTable asks for the namespace's Sandboxes as kubectl get does.
func getTable(t *testing.T, namespace string) *metav1.Table {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(apiServer.Config)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	err = clientset.RESTClient().Get().AbsPath("/apis/agents.x-k8s.io/v1beta1/namespaces", namespace, "sandboxes").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	return table
}
