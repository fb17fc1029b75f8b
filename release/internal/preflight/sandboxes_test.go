package preflight

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func stored(namespace, name, class string) Stored {
	var s Stored
	s.Metadata.Namespace, s.Metadata.Name, s.Spec.PodTemplate.Spec.RuntimeClassName = namespace, name, class
	return s
}

func TestRuntimeClassesThatAreMissing(t *testing.T) {
	named := func(crd string, objects ...Stored) func(*Seen) {
		return func(seen *Seen) { seen.Stored[crd] = Answer[[]Stored]{Value: objects} }
	}
	const templates = "sandboxtemplates.extensions.agents.x-k8s.io"
	decide(t, everything(t), map[string]change{
		"there are some": {amiss: func(*Seen) {}, says: "gvisor (handler runsc): name one"},
		"there is none": {
			amiss: func(seen *Seen) { seen.RuntimeClasses.Value = nil }, want: []string{"warning runtime-classes RuntimeClasses"},
			says: "on the kernel of their node", wayOut: "kind: RuntimeClass",
		},
		"those that are named are there":  {amiss: named(templates, stored("a", "b", "gvisor"), stored("a", "c", ""))},
		"one that is named is not there":  {amiss: named(templates, stored("a", "b", "kata")), want: []string{"blocked runtime-classes RuntimeClass kata"}, says: "named by SandboxTemplate a/b: their"},
		"many name one that is not there": {amiss: named(sandboxes, stored("a", "b", "kata"), stored("a", "c", "kata"), stored("a", "d", "kata"), stored("a", "e", "kata"), stored("a", "f", "kata")), want: []string{"blocked runtime-classes RuntimeClass kata"}, says: "Sandbox a/b, Sandbox a/c, Sandbox a/d and 2 more"},
		"that one may not read": {
			amiss: func(seen *Seen) {
				seen.RuntimeClasses.Denied = &Right{Verb: "list", Group: "node.k8s.io", Resource: "runtimeclasses"}
			},
			want: []string{"unknown runtime-classes RuntimeClasses"}, says: "you may not list runtimeclasses.node.k8s.io",
		},
	})
}

func TestEnginesOfNetworkPolicies(t *testing.T) {
	set := func(name string, ready int32, args ...string) func(*Seen) {
		return func(seen *Seen) {
			seen.DaemonSets.Value = []appsv1.DaemonSet{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Status: appsv1.DaemonSetStatus{NumberReady: ready},
				Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: eksAgent, Args: args}}}}},
			}}
		}
	}
	cases := map[string]change{
		"none that is known": {
			amiss: set("kube-flannel", 1), want: []string{"warning network-policies NetworkPolicies"},
			says: "they may be without effect", wayOut: "run client --image=busybox",
		},
		"one without a Pod that is ready": {
			amiss: set("calico-node", 0), want: []string{"warning network-policies DaemonSet kube-system/calico-node"},
			says: "none of its Pods is ready", wayOut: "describe daemonset calico-node",
		},
		"as a Deployment": {
			amiss: func(seen *Seen) {
				seen.DaemonSets.Value = nil
				engine := foreign("kube-system", "kube-network-policies", "x")
				engine.Status.ReadyReplicas = 1
				seen.Deployments.Value = append(seen.Deployments.Value, engine)
			},
			says: "kube-network-policies enforces NetworkPolicies",
		},
		"that of EKS, on":  {amiss: set(eksPlugin, 1, eksSwitch+"true"), says: "the network plugin of EKS enforces NetworkPolicies"},
		"that of EKS, off": {amiss: set(eksPlugin, 1, eksSwitch+"false"), want: []string{"warning network-policies DaemonSet kube-system/aws-node"}, wayOut: "enableNetworkPolicy"},
		"that of K3s": {
			amiss: func(seen *Seen) {
				seen.DaemonSets.Value = nil
				seen.Nodes.Value[0].Status.NodeInfo.KubeletVersion = "v1.34.1+k3s1"
			},
			says: "K3s enforces them",
		},
		"that one may not look for": {
			amiss: func(seen *Seen) {
				seen.DaemonSets = Answer[[]appsv1.DaemonSet]{Denied: &Right{Verb: "list", Group: "apps", Resource: "daemonsets", Namespace: AllNamespaces}}
			},
			want: []string{"unknown network-policies NetworkPolicies"}, says: "you may not list daemonsets.apps in all namespaces", wayOut: "kubectl auth can-i list daemonsets.apps --all-namespaces",
		},
	}
	for _, engine := range engines() {
		cases[engine.name+" by "+engine.workload] = change{amiss: set(engine.workload, 1), says: engine.name + " enforces NetworkPolicies"}
	}
	decide(t, everything(t), cases)
}

func TestStorageClassesAreTold(t *testing.T) {
	immediate, later := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	classes := func(classes ...storagev1.StorageClass) func(*Seen) {
		return func(seen *Seen) { seen.StorageClasses.Value = classes }
	}
	younger := aClass("fast", "true", later)
	younger.CreationTimestamp = metav1.NewTime(now.Add(time.Hour))
	oldMark := aClass("old", "", later)
	oldMark.Annotations = map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}
	want := []string{"warning storage-class StorageClasses"}
	decide(t, everything(t), map[string]change{
		"one that waits":         {amiss: func(*Seen) {}, says: "(WaitForFirstConsumer)"},
		"one that does not wait": {amiss: classes(aClass("standard", "true", immediate)), says: "(Immediate)"},
		"by the old annotation":  {amiss: classes(oldMark), says: "it is the default"},
		"none":                   {amiss: classes(), want: want, says: "there is none", wayOut: ""},
		"none by default": {
			amiss: classes(aClass("standard", "false", later), aClass("slow", "", later)), want: want, says: "none is the default (there is standard and slow)",
			wayOut: `kubectl patch storageclass standard --patch '{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}'`,
		},
		"two by default": {
			amiss: classes(younger, aClass("standard", "true", later)), want: want, says: "fast and standard are all the default: the youngest, fast, is taken",
			wayOut: `kubectl patch storageclass standard --patch '{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"false"}}}'`,
		},
		"one that does not wait, over two zones": {
			amiss: func(seen *Seen) {
				seen.StorageClasses.Value = []storagev1.StorageClass{aClass("standard", "true", immediate)}
				for _, zone := range []string{"a", "b"} {
					node := aNode("in-" + zone)
					node.Labels[corev1.LabelTopologyZone] = zone
					seen.Nodes.Value = append(seen.Nodes.Value, node)
				}
			},
			want: []string{"warning storage-class StorageClass standard"}, says: "on a cluster of 2 zones",
		},
	})
}

func TestDNSIsTold(t *testing.T) {
	corefile := func(text string) func(*Seen) {
		return func(seen *Seen) { seen.CoreDNS.Value = &corev1.ConfigMap{Data: map[string]string{"Corefile": text}} }
	}
	const corp = "corp.example:53 {\n  kubernetes corp.example. in-addr.arpa {\n  }\n}\n"
	other := []string{"warning dns cluster domain"}
	settingsWith := func(domain string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: map[string]string{domainFlag: domain}}
	}
	decide(t, everything(t), map[string]change{
		"as usual":     {amiss: func(*Seen) {}, says: "it is cluster.local, as the controller has it"},
		"no DNS":       {amiss: func(seen *Seen) { seen.SystemServices.Value = nil }, want: []string{"warning dns Service kube-system/kube-dns"}},
		"no domain":    {amiss: corefile(". {\n  forward . /etc/resolv.conf\n}\n"), says: "the cluster has its DNS here"},
		"no ConfigMap": {amiss: func(seen *Seen) { seen.CoreDNS.Value = nil }, says: "the cluster has its DNS here"},
		"another domain": {
			amiss: corefile(corp), want: other, says: "it is corp.example, and the controller takes cluster.local",
			wayOut: "kubectl create namespace agent-sandbox-system\nkubectl --namespace agent-sandbox-system create configmap agent-sandbox-config --from-literal=cluster-domain=corp.example",
		},
		"another domain, which the ConfigMap tells": {
			amiss: func(seen *Seen) {
				corefile(corp)(seen)
				seen.Settings.Value = settingsWith("corp.example")
			},
			says: "it is corp.example, as the controller has it",
		},
		"another domain than the ConfigMap tells": {
			amiss: func(seen *Seen) {
				corefile(corp)(seen)
				seen.Settings.Value = settingsWith("example.com")
			},
			want: other, wayOut: `patch configmap agent-sandbox-config --type=merge --patch '{"data":{"cluster-domain":"corp.example"}}'`,
		},
		"another domain, which the flag tells": {
			amiss: func(seen *Seen) {
				corefile(corp)(seen)
				deployment := installed(everything(t), "agent-sandbox-controller", 1)
				deployment.Spec.Template.Spec.Containers[0].Args = []string{"--leader-elect=true", "--cluster-domain=corp.example"}
				seen.Deployments.Value = []appsv1.Deployment{deployment}
				seen.Settings.Value = settingsWith("example.com")
			},
			says: "it is corp.example, as the controller has it",
		},
	})
}
