package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// box stands for a kind of the project.
type box struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Until *metav1.Time `json:"until"`
	} `json:"spec"`
}

func (b *box) DeepCopyObject() runtime.Object { copied := *b; return &copied }

// pages answers lists, one object at a time.
type pages struct {
	client.Reader
	items []unstructured.Unstructured
}

func (p *pages) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(options)
	at := len(asked.Continue)
	list, ok := into.(*unstructured.UnstructuredList)
	if !ok || asked.Limit == 0 {
		return fmt.Errorf("%T without a limit", into)
	}
	list.Items = p.items[at : at+1]
	list.SetContinue(strings.Repeat("x", at+1))
	if at+1 == len(p.items) {
		list.SetContinue("")
	}
	return nil
}

func boxUntil(name, until string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agents.x-k8s.io/v1", "kind": "box", "metadata": map[string]any{"namespace": "ns", "name": name},
		"spec": map[string]any{"until": until},
	}}
}

func TestTheObjectThatCannotBeReadIsNamed(t *testing.T) {
	scheme := runtime.NewScheme()
	kind := schema.GroupVersionKind{Group: ownGroup, Version: "v1", Kind: "box"}
	scheme.AddKnownTypeWithName(kind, &box{})
	var told []string
	u := unreadable{scheme: scheme, log: funcr.New(func(_, line string) { told = append(told, line) }, funcr.Options{}), live: &pages{items: []unstructured.Unstructured{
		boxUntil("good", "2027-01-01T00:00:00Z"), boxUntil("bad", "2027-01-01t00:00:00z"), boxUntil("last", "2027-01-01T00:00:00Z"),
	}}}
	if found, ok := u.kindOf("*app.box"); !ok || found != kind {
		t.Fatalf("the kind is %v, %v", found, ok)
	}
	if _, ok := u.kindOf("*v1.Pod"); ok {
		t.Error("a Pod is none of ours")
	}
	u.name(t.Context(), kind)
	if len(told) != 1 || !strings.Contains(told[0], `"namespace"="ns" "name"="bad"`) || !strings.Contains(told[0], "2027-01-01t00:00:00z") {
		t.Errorf("told %q", told)
	}
}

func TestWhichErrorsMayComeFromAnObject(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a time that is none":          {fmt.Errorf("parsing time: %w", errors.New("extra text")), true},
		"a refusal":                    {apierrors.NewForbidden(schema.GroupResource{}, "", nil), false},
		"a connection that is refused": {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false},
		"a watch that ends":            {io.EOF, false},
		"a process that stops":         {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mayBeContent(tc.err); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
