package preflight

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/ptr"
)

// now is when every cluster of these tests was read.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func everything(t *testing.T) Target { return targetOf(t, Extensions, DefaultNamespace) }

// targets are those that were read already: no test changes one.
var targets = map[targetKey]Target{}

type targetKey struct {
	scope     Scope
	namespace string
}

func targetOf(t *testing.T, scope Scope, namespace string) Target {
	t.Helper()
	key := targetKey{scope, namespace}
	if known, found := targets[key]; found {
		return known
	}
	target, err := NewTarget(scope, namespace)
	if err != nil {
		t.Fatal(err)
	}
	targets[key] = target
	return target
}

// lacksNothing is a cluster on which nothing is installed and nothing is amiss.
func lacksNothing(target Target) Seen {
	seen := Seen{
		Now:      now,
		Version:  Answer[*version.Info]{Value: &version.Info{GitVersion: "v1.34.1"}},
		APIs:     Answer[[]*metav1.APIResourceList]{Value: served(target)},
		Rights:   Answer[map[Right]bool]{Value: map[Right]bool{}},
		Stored:   map[string]Answer[[]Stored]{},
		Webhooks: map[types.NamespacedName]Answer[bool]{},
	}
	for _, right := range slices.Concat(target.installRights(), target.grantRights()) {
		seen.Rights.Value[right] = true
	}
	seen.DaemonSets.Value = []appsv1.DaemonSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cilium"}, Status: appsv1.DaemonSetStatus{NumberReady: 1},
	}}
	seen.Nodes.Value = []corev1.Node{aNode("a")}
	seen.RuntimeClasses.Value = []nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc"}}
	seen.StorageClasses.Value = []storagev1.StorageClass{aClass("standard", "true", storagev1.VolumeBindingWaitForFirstConsumer)}
	seen.SystemServices.Value = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}}
	seen.CoreDNS.Value = &corev1.ConfigMap{Data: map[string]string{"Corefile": ".:53 {\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n    }\n}\n"}}
	return seen
}

func served(target Target) []*metav1.APIResourceList {
	var lists []*metav1.APIResourceList
	for _, need := range target.needs() {
		at := schema.GroupVersion{Group: need.resource.Group, Version: need.resource.Version}
		if at.Version == "" {
			at.Version = "v1"
		}
		lists = append(lists, &metav1.APIResourceList{GroupVersion: at.String(), APIResources: []metav1.APIResource{{Name: need.resource.Resource}}})
	}
	return lists
}

func aNode(name string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi")},
		},
	}
}

func aClass(name, isDefault string, binding storagev1.VolumeBindingMode) storagev1.StorageClass {
	return storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: name, Annotations: map[string]string{defaultClass: isDefault}, CreationTimestamp: metav1.NewTime(now)},
		VolumeBindingMode: &binding,
	}
}

func aNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: DefaultNamespace, Labels: labels}}
}

// installed is a controller's Deployment as the assets have it, with so many replicas available.
func installed(target Target, name string, available int32) appsv1.Deployment {
	for _, deployment := range target.deployments() {
		if deployment.Name == name {
			there := *deployment.DeepCopy()
			there.Status.AvailableReplicas = available
			return there
		}
	}
	return appsv1.Deployment{}
}

// foreign is somebody else's Deployment with one container.
func foreign(namespace, name, image string) appsv1.Deployment {
	return appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"control-plane": "manager"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}},
		},
	}
}

// change is a case of a test: what is amiss on a cluster, and what is then said of it.
type change struct {
	amiss func(*Seen)
	// want are result, check and object of everything that is not ok, in order.
	want []string
	// says is part of what it means.
	says string
	// wayOut is part of the commands.
	wayOut string
}

// decide runs the cases on a cluster for which target is to be installed.
func decide(t *testing.T, target Target, cases map[string]change) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seen := lacksNothing(target)
			c.amiss(&seen)
			var got []string
			var means, wayOut string
			for _, f := range Check(seen, target) {
				means += f.Meaning + "\n"
				wayOut += strings.Join(f.WayOut, "\n") + "\n"
				if f.Result != OK {
					got = append(got, strings.Join([]string{string(f.Result), f.Check, f.Object}, " "))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what is not ok (-want +got):\n%s", diff)
			}
			if !strings.Contains(means, c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, means)
			}
			if !strings.Contains(wayOut, c.wayOut) {
				t.Errorf("no way out has %q:\n%s", c.wayOut, wayOut)
			}
		})
	}
}
