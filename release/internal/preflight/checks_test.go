package preflight

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestAClusterThatLacksNothing(t *testing.T) {
	decide(t, everything(t), map[string]change{
		"everything is ok":              {amiss: func(*Seen) {}, says: "kinds that are needed are served"},
		"rights of its own, none given": {amiss: func(seen *Seen) { giveWhatOneHas(t, seen) }, says: "you may give the controllers what their roles hold"},
	})
}

// giveWhatOneHas takes the right to escalate, and gives all those that the roles hold.
func giveWhatOneHas(t *testing.T, seen *Seen) {
	t.Helper()
	target := everything(t)
	for _, right := range target.grantRights() {
		seen.Rights.Value[right] = false
	}
	for _, right := range target.grantedRights() {
		seen.Rights.Value[right] = true
	}
}

func TestKubernetesIsNewEnough(t *testing.T) {
	version := func(is string) func(*Seen) { return func(seen *Seen) { seen.Version.Value.GitVersion = is } }
	decide(t, everything(t), map[string]change{
		"the oldest":        {amiss: version("v1.30.0"), says: "this needs 1.30 or later"},
		"an offering's":     {amiss: version("v1.31.5-gke.1023000")},
		"too old":           {amiss: version("v1.29.14"), want: []string{"blocked kubernetes-version Kubernetes v1.29.14"}, says: "upgrade the cluster"},
		"no version at all": {amiss: version("devel"), want: []string{"warning kubernetes-version Kubernetes"}, says: `it calls itself "devel"`},
		"one API less": {
			amiss: func(seen *Seen) { seen.APIs.Value = seen.APIs.Value[1:] },
			want:  []string{"blocked apis namespaces v1"}, says: "this API is not served, and it is part of what is installed",
		},
		"an API that the controllers alone need": {
			amiss: func(seen *Seen) {
				for _, list := range seen.APIs.Value {
					if list.APIResources[0].Name == "runtimeclasses" {
						list.APIResources = nil
						return
					}
				}
			},
			want: []string{"blocked apis runtimeclasses.node.k8s.io"}, says: "the controllers work with it",
		},
	})
}

func TestRightsThatAreMissingAreNamed(t *testing.T) {
	target := everything(t)
	decide(t, target, map[string]change{
		"to install": {
			amiss: func(seen *Seen) {
				seen.Rights.Value[Right{Verb: "create", Resource: "namespaces"}] = false
				seen.Rights.Value[Right{Verb: "patch", Resource: "namespaces"}] = false
				seen.Rights.Value[Right{Verb: "get", Group: "apps", Resource: "deployments", Namespace: DefaultNamespace}] = false
			},
			want: []string{"blocked rights your rights"}, wayOut: "kubectl auth can-i create namespaces --all-namespaces\n",
			says: "create and patch namespaces; get deployments.apps in namespace agent-sandbox-system. Ask",
		},
		"to give away": {
			amiss: func(seen *Seen) {
				giveWhatOneHas(t, seen)
				seen.Rights.Value[Right{Verb: "list", Resource: "pods"}] = false
				seen.Rights.Value[Right{Verb: "patch", Group: "agents.x-k8s.io", Resource: "sandboxes/status"}] = false
			},
			want: []string{"blocked rights the controllers' rights"}, says: "some that you lack: list pods; patch sandboxes.agents.x-k8s.io/status. Let",
		},
		"to ask": {
			amiss: func(seen *Seen) { seen.Rights = Answer[map[Right]bool]{Failed: "no answer"} },
			want:  []string{"unknown rights your rights"}, says: "not looked at: no answer",
		},
	})
}

func TestControllersAreTold(t *testing.T) {
	target := everything(t)
	const core = "agent-sandbox-controller"
	add := func(deployments ...appsv1.Deployment) func(*Seen) {
		return func(seen *Seen) { seen.Deployments.Value = append(seen.Deployments.Value, deployments...) }
	}
	stopped, sameSelector := foreign("other", "boxes", "example.com/agent-sandbox-controller:v1"), foreign(DefaultNamespace, core, "x")
	stopped.Spec.Replicas = ptr.To[int32](0)
	sameSelector.Spec.Selector = installed(target, core, 0).Spec.Selector
	scaled := installed(target, core, 0)
	scaled.Spec.Replicas = ptr.To[int32](0)
	decide(t, target, map[string]change{
		"ours at work": {amiss: add(installed(target, core, 1)), says: "it is ours (v0.0.0-dev), 1 of 1 replicas are available"},
		"ours that does not come up": {
			amiss: add(installed(target, core, 0)), want: []string{"warning controllers Deployment agent-sandbox-system/" + core},
			says: "none of its 1 replicas is available", wayOut: "describe deployment,replicaset,pod --selector app=" + core,
		},
		"ours scaled to 0": {
			amiss: add(scaled), want: []string{"warning controllers Deployment agent-sandbox-system/" + core}, says: "scaled to 0",
			wayOut: "kubectl --namespace agent-sandbox-system scale deployment agent-sandbox-controller --replicas=1",
		},
		"another by its image": {
			amiss: add(foreign("other", "boxes", "example.com:5000/team/agent-sandbox-controller:v1@sha256:0")),
			want:  []string{"blocked controllers Deployment other/boxes"}, says: "two of them would fight",
			wayOut: "kubectl --namespace other scale deployment boxes --replicas=0",
		},
		"another by its name, as a StatefulSet": {
			amiss: func(seen *Seen) {
				seen.StatefulSets.Value = []appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: core}}}
			},
			want: []string{"blocked controllers StatefulSet agent-sandbox-system/" + core}, wayOut: "scale statefulset " + core,
		},
		"another that is stopped":              {amiss: add(stopped), want: []string{"warning controllers Deployment other/boxes"}, says: "is stopped"},
		"a router is none":                     {amiss: add(foreign("other", "sandbox-router", "example.com/sandbox-router:v1"))},
		"another in our place":                 {amiss: add(sameSelector), want: []string{"warning controllers Deployment agent-sandbox-system/" + core}, says: "ours takes its place"},
		"another that cannot be taken over so": {amiss: add(foreign(DefaultNamespace, core, "x")), want: []string{"blocked controllers Deployment agent-sandbox-system/" + core}, says: "another selector", wayOut: "delete deployment " + core},
	})
	decide(t, targetOf(t, Extensions, "elsewhere"), map[string]change{
		"ours in another namespace": {
			amiss: add(installed(target, core, 1)), want: []string{"blocked controllers Deployment agent-sandbox-system/" + core}, says: "two of them would fight",
		},
	})
}

func TestLeasesOfOthersAreTold(t *testing.T) {
	held := func(name, by string, ago time.Duration) func(*Seen) {
		return func(seen *Seen) {
			seen.Leases.Value = []coordinationv1.Lease{{
				ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: name},
				Spec: coordinationv1.LeaseSpec{
					HolderIdentity: &by, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)},
				},
			}}
		}
	}
	const ours = "agent-sandbox-controller.agents.x-k8s.io"
	decide(t, everything(t), map[string]change{
		"held by our Pod": {amiss: held(ours, "agent-sandbox-controller-5d8-x7_4f", time.Second), says: "a Pod of the Deployment agent-sandbox-controller holds it"},
		"held by a controller outside the cluster": {
			amiss: held(ours, "laptop_4f", time.Second), want: []string{"warning leases Lease agent-sandbox-system/" + ours}, says: "laptop holds it, which is no Pod",
		},
		"held until a moment ago": {amiss: held(ours, "laptop_4f", 16*time.Second), says: "none is held that our controllers would wait for"},
		"given up":                {amiss: held(ours, "", time.Second), says: "none is held"},
		"another controller's": {
			amiss: held("a3317529.agent-sandbox.x-k8s.io", "manager-0_4f", time.Second),
			want:  []string{"warning leases Lease agent-sandbox-system/a3317529.agent-sandbox.x-k8s.io"}, says: "looks like another controller of Sandboxes",
		},
		"of something else": {amiss: held("webhook", "manager-0_4f", time.Second), says: "none is held"},
	})
}

func TestTheNamespaceTakesOurPods(t *testing.T) {
	namespace := func(labels map[string]string) func(*Seen) {
		return func(seen *Seen) { seen.Namespace.Value = aNamespace(labels) }
	}
	decide(t, everything(t), map[string]change{
		"restricted":    {amiss: namespace(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}), says: "(enforce restricted:latest) takes our Pods"},
		"without label": {amiss: namespace(nil), says: "(enforce privileged:latest) takes our Pods"},
		"a level that there is not": {
			amiss: namespace(map[string]string{"pod-security.kubernetes.io/enforce": "strict"}),
			want:  []string{"warning pod-security Namespace agent-sandbox-system"}, says: "cannot be read",
		},
		"being deleted": {
			amiss: func(seen *Seen) {
				seen.Namespace.Value = aNamespace(nil)
				seen.Namespace.Value.DeletionTimestamp = ptr.To(metav1.NewTime(now))
			},
			want: []string{"blocked namespace Namespace agent-sandbox-system"}, says: "takes nothing new", wayOut: "kubectl get namespace agent-sandbox-system",
		},
	})
	pods := everything(t).pods()
	pods[0].Spec.HostNetwork = true
	got := decidePodSecurity(aNamespace(map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}), pods)
	if len(got) != 1 || got[0].Result != Blocked {
		t.Errorf("Pods on their node's network: %+v", got)
	}
}

func TestANodeTakesOurPods(t *testing.T) {
	only := func(change func(*corev1.Node)) func(*Seen) {
		return func(seen *Seen) { change(&seen.Nodes.Value[0]) }
	}
	none := []string{"blocked nodes Nodes"}
	decide(t, everything(t), map[string]change{
		"no node":       {amiss: func(seen *Seen) { seen.Nodes.Value = nil }, want: none, says: "there is none"},
		"one of two":    {amiss: func(seen *Seen) { seen.Nodes.Value = append(seen.Nodes.Value, corev1.Node{}) }, says: "1 of 2 take our Pods"},
		"not ready":     {amiss: only(func(n *corev1.Node) { n.Status.Conditions = nil }), want: none, says: "a is not Ready", wayOut: "kubectl describe nodes"},
		"cordoned":      {amiss: only(func(n *corev1.Node) { n.Spec.Unschedulable = true }), want: none, says: "a is cordoned", wayOut: "kubectl uncordon a"},
		"tainted":       {amiss: only(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: "NoSchedule"}} }), want: none, says: "a has the taint gpu:NoSchedule"},
		"tainted a bit": {amiss: only(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: "PreferNoSchedule"}} })},
		"of Windows":    {amiss: only(func(n *corev1.Node) { n.Labels[corev1.LabelOSStable] = "windows" }), want: none, says: "lacks the label kubernetes.io/os=linux"},
		"of another architecture": {
			amiss: only(func(n *corev1.Node) { n.Labels[corev1.LabelArchStable] = "s390x" }), want: none, says: "(s390x) than our images (amd64 and arm64)",
		},
		"too small": {
			amiss: only(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = *quantityOf("200m") }), want: none,
			says: "a has 200m of cpu, less than the 250m that agent-sandbox-controller asks for",
		},
	})
}

func TestATaintIsTolerated(t *testing.T) {
	taint := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	cases := map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"of its key":           {corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}, true},
		"of its value":         {corev1.Toleration{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}, true},
		"of all":               {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"of another value":     {corev1.Toleration{Key: "gpu", Value: "no"}, false},
		"of another key":       {corev1.Toleration{Key: "disk", Operator: corev1.TolerationOpExists}, false},
		"of another effect":    {corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
		"of nothing in effect": {corev1.Toleration{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tolerated(taint, []corev1.Toleration{c.toleration}); got != c.want {
				t.Errorf("tolerated: %t", got)
			}
		})
	}
}
