package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func podOf(refs ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", OwnerReferences: refs}}
}

func ref(apiVersion, kind, uid string, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "o", UID: types.UID("uid-" + uid), Controller: controller}
}

var kind = schema.GroupKind{Group: "example.io", Kind: "Owner"}

func TestOwnership(t *testing.T) {
	cases := map[string]struct {
		pod      *corev1.Pod
		relation Relation
		index    []string
	}{
		"no owner at all":                           {pod: podOf(), relation: Unowned},
		"an owner that is no controller":            {pod: podOf(ref("example.io/v1", "Owner", "a", nil)), relation: Unowned},
		"our own controller reference":              {pod: podOf(ref("example.io/v1", "Owner", "a", ptr.To(true))), relation: Ours, index: []string{"uid-a"}},
		"our reference in another version":          {pod: podOf(ref("example.io/v1alpha1", "Owner", "a", ptr.To(true))), relation: Ours, index: []string{"uid-a"}},
		"another UID of the same name":              {pod: podOf(ref("example.io/v1", "Owner", "b", ptr.To(true))), relation: Foreign, index: []string{"uid-b"}},
		"another group's kind of that name":         {pod: podOf(ref("other.io/v1", "Owner", "b", ptr.To(true))), relation: Foreign},
		"another kind":                              {pod: podOf(ref("example.io/v1", "Other", "b", ptr.To(true))), relation: Foreign},
		"an owner reference that cannot be read":    {pod: podOf(ref("a/b/c", "Owner", "b", ptr.To(true))), relation: Foreign},
		"a plain owner beside our controller entry": {pod: podOf(ref("v1", "Node", "n", nil), ref("example.io/v1", "Owner", "a", ptr.To(true))), relation: Ours, index: []string{"uid-a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Of(tc.pod, "uid-a"); got != tc.relation {
				t.Errorf("Of = %v, want %v", got, tc.relation)
			}
			if diff := cmp.Diff(tc.index, IndexByController(kind)(tc.pod)); diff != "" {
				t.Errorf("index (-want +got):\n%s", diff)
			}
		})
	}
}
