package target_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		want target.Ref
		says string
	}{
		"box":                           {want: target.Ref{Name: "box"}},
		"sandbox/box":                   {want: target.Ref{Kind: target.Sandbox, Name: "box"}},
		"Sandboxes/box":                 {want: target.Ref{Kind: target.Sandbox, Name: "box"}},
		"claim/a.b":                     {want: target.Ref{Kind: target.Claim, Name: "a.b"}},
		"sandboxclaim/a":                {want: target.Ref{Kind: target.Claim, Name: "a"}},
		"swp/a":                         {want: target.Ref{Kind: target.Pool, Name: "a"}},
		"template/a":                    {want: target.Ref{Kind: target.Template, Name: "a"}},
		"":                              {says: `"": no object can have the name ""`},
		"sandbox/":                      {says: `"sandbox/": no object can have the name ""`},
		"pod/a":                         {says: `"pod/a": there is no type "pod": choose sandbox/NAME, claim/NAME`},
		"Box":                           {says: `no object can have the name "Box"`},
		"sandbox/a/b":                   {says: `no object can have the name "a/b"`},
		"sandbox/../secrets":            {says: `no object can have the name "../secrets"`},
		"-rf":                           {says: `no object can have the name "-rf"`},
		"a\x1b[2J":                      {says: `no object can have the name`},
		"sandboxes.agents.x-k8s.io/box": {want: target.Ref{Kind: target.Sandbox, Name: "box"}},
	}
	for text, c := range cases {
		t.Run(text, func(t *testing.T) {
			got, err := target.Parse(text)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want an error with %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again, err := target.Parse(got.String()); err != nil || again != got {
				t.Errorf("%q does not mean the same: %v, %v", got, again, err)
			}
		})
	}
}

// objects is a Reader of what it holds. It errs like the API server, and selects Pods by what target selects them by.
type objects []client.Object

// Get implements client.Reader.
func (o objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, object := range o {
		if client.ObjectKeyFromObject(object) != key {
			continue
		}
		switch to := into.(type) {
		case *sandboxv1beta1.Sandbox:
			if from, ok := object.(*sandboxv1beta1.Sandbox); ok {
				from.DeepCopyInto(to)
				return nil
			}
		case *extensionsv1beta1.SandboxClaim:
			if from, ok := object.(*extensionsv1beta1.SandboxClaim); ok {
				from.DeepCopyInto(to)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
}

// List implements client.Reader.
func (o objects) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var selected client.ListOptions
	selected.ApplyOptions(options)
	pods, _ := into.(*corev1.PodList)
	for _, object := range o {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Namespace != selected.Namespace || !selected.LabelSelector.Matches(labelsOf(pod)) {
			continue
		}
		if selected.FieldSelector != nil && !selected.FieldSelector.Matches(labelSet{metav1.ObjectNameField: pod.Name}) {
			continue
		}
		pods.Items = append(pods.Items, *pod)
	}
	return nil
}

type labelSet map[string]string

// Has implements fields.Fields and labels.Labels.
func (l labelSet) Has(key string) bool { _, has := l[key]; return has }

// Get implements them.
func (l labelSet) Get(key string) string { return l[key] }

// Lookup implements labels.Labels.
func (l labelSet) Lookup(key string) (string, bool) { value, has := l[key]; return value, has }

func labelsOf(pod *corev1.Pod) labelSet { return labelSet(pod.Labels) }

func owned(by string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "Any", Name: "any", UID: types.UID(by), Controller: ptr.To(true)}}
}

func meta(name, uid string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(uid), OwnerReferences: owners}
}

func box(name, uid, selector string, owners ...metav1.OwnerReference) *sandboxv1beta1.Sandbox {
	return &sandboxv1beta1.Sandbox{ObjectMeta: meta(name, uid, owners...), Status: sandboxv1beta1.SandboxStatus{LabelSelector: selector}}
}

func claim(name, uid, sandbox string) *extensionsv1beta1.SandboxClaim {
	made := &extensionsv1beta1.SandboxClaim{ObjectMeta: meta(name, uid)}
	made.Status.Sandbox.Name = sandbox
	return made
}

func TestTheSandboxBehindAName(t *testing.T) {
	there := objects{
		box("both", "u1", ""), claim("both", "u2", "both"),
		claim("session", "u3", "member"), box("member", "u4", "", owned("u3")...),
		claim("waits", "u5", ""),
		claim("forged", "u6", "stolen"), box("stolen", "u7", "", owned("another")...),
	}
	cases := map[string]struct{ ref, uid, says string }{
		"a bare name is that of a Sandbox":               {"both", "u1", ""},
		"a bare name is else that of a claim":            {"session", "u4", ""},
		"a claim means its Sandbox":                      {"claim/session", "u4", ""},
		"a claim without one says so":                    {"claim/waits", "", "it has no Sandbox yet: `kubectl sandbox doctor claim/waits -n team` says why"},
		"a Sandbox that the claim does not have is none": {"forged", "", `names Sandbox "stolen", which is not controlled by it`},
		"a name of nothing says what was looked for":     {"nothing", "", "has neither a Sandbox nor a claim"},
		"a pool is no Sandbox":                           {"pool/session", "", "reading pool/session"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ref, err := target.Parse(c.ref)
			if err != nil {
				t.Fatal(err)
			}
			got, err := target.Finder{Reader: there, Namespace: "team"}.Sandbox(t.Context(), ref)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want an error with %q", err, c.says)
				}
				return
			}
			if err != nil || string(got.UID) != c.uid {
				t.Errorf("got %v, %v, want %s", got, err, c.uid)
			}
		})
	}
}

func pod(name string, label string, owners ...metav1.OwnerReference) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: meta(name, "uid of "+name, owners...)}
	made.Labels = map[string]string{"hash": label}
	return made
}

func TestThePodIsTheOneThatTheSandboxControls(t *testing.T) {
	suspended := box("box", "u1", "hash=1")
	suspended.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended
	cases := map[string]struct {
		sandbox *sandboxv1beta1.Sandbox
		pods    objects
		want    string
		says    string
	}{
		"by its owner":                         {box("box", "u1", "hash=1"), objects{pod("box", "1", owned("u1")...)}, "box", ""},
		"whatever its name":                    {box("box", "u1", "hash=1"), objects{pod("other", "1", owned("u1")...)}, "other", ""},
		"by its name, without a selector":      {box("box", "u1", ""), objects{pod("box", "", owned("u1")...)}, "box", ""},
		"a namesake of another owner is none":  {box("box", "u1", "hash=1"), objects{pod("box", "1", owned("u2")...)}, "", "it has no Pod: `kubectl sandbox doctor sandbox/box -n team` says why"},
		"one that nobody owns is none":         {box("box", "u1", "hash=1"), objects{pod("box", "1")}, "", "it has no Pod"},
		"the right one is told from a forgery": {box("box", "u1", "hash=1"), objects{pod("a", "1", owned("u2")...), pod("box", "1", owned("u1")...)}, "box", ""},
		"a suspended one has none":             {suspended, nil, "", "it is suspended; `kubectl sandbox resume box -n team` starts it"},
		"of several none is chosen":            {box("box", "u1", "hash=1"), objects{pod("b", "1", owned("u1")...), pod("a", "1", owned("u1")...)}, "", "several Pods (a, b)"},
		"a selector that is none says so":      {box("box", "u1", "=,="), nil, "", `reading status.selector "=,=" of sandbox/box`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := target.Finder{Reader: c.pods, Namespace: "team"}.Pod(t.Context(), c.sandbox)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("got %v, want an error with %q", err, c.says)
				}
				if strings.Contains(c.says, "no Pod") && !errors.Is(err, target.ErrNoPod) {
					t.Errorf("%v is not ErrNoPod", err)
				}
				return
			}
			if err != nil || got.Name != c.want {
				t.Errorf("got %v, %v, want Pod %s", got, err, c.want)
			}
		})
	}
}
