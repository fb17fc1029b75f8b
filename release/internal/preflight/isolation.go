package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func checkRuntimeClasses(seen Seen, target Target) []Finding {
	const object = "RuntimeClasses"
	if unknown := seen.RuntimeClasses.unknown(object); unknown != nil {
		return append(unknown, storedUnread(seen, target)...)
	}
	var there []string
	known := map[string]bool{}
	for _, class := range seen.RuntimeClasses.Value {
		there = append(there, fmt.Sprintf("%s (handler %s)", class.Name, class.Handler))
		known[class.Name] = true
	}
	findings := []Finding{ok(object, "%s: name one in podTemplate.spec.runtimeClassName", and(there))}
	if there == nil {
		findings[0] = warning(object,
			"there is none, so that Sandboxes run as any other Pod, on the kernel of their node: for isolation install gVisor or Kata on nodes, and make a RuntimeClass for it, such as this one for gVisor").
			with(`printf 'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: gvisor}\nhandler: runsc\n' | kubectl apply --filename -`)
	}
	users := runtimeClassUsers(seen, target)
	for _, class := range slices.Sorted(maps.Keys(users)) {
		if !known[class] {
			findings = append(findings, blocked("RuntimeClass "+class, "it does not exist, and is named by %s: their Pods cannot be made until it does", some(users[class])))
		}
	}
	return append(findings, storedUnread(seen, target)...)
}

// runtimeClassUsers are the objects that name a RuntimeClass, by its name.
func runtimeClassUsers(seen Seen, target Target) map[string][]string {
	users := map[string][]string{}
	for _, crd := range target.crds() {
		for _, object := range seen.Stored[crd.Name].Value {
			if class := object.Spec.PodTemplate.Spec.RuntimeClassName; class != "" {
				users[class] = append(users[class], fmt.Sprintf("%s %s/%s", crd.Spec.Names.Kind, object.Metadata.Namespace, object.Metadata.Name))
			}
		}
	}
	return users
}

// storedUnread tells of the objects that could not be read.
func storedUnread(seen Seen, target Target) []Finding {
	var findings []Finding
	for _, crd := range target.crds() {
		findings = append(findings, seen.Stored[crd.Name].unknown("objects of "+crd.Name)...)
	}
	return findings
}

// engine is what enforces NetworkPolicies, and the workload by which it is known.
type engine struct {
	name     string
	workload string
}

// engines are those that their documentation says enforce NetworkPolicies, and what they call their DaemonSet or Deployment.
func engines() []engine {
	return []engine{
		{"Calico", "calico-node"},
		{"Canal", "canal"},
		{"Canal", "rke2-canal"},
		{"Cilium", "cilium"},
		{"GKE Dataplane V2", "anetd"},
		{"kube-router", "kube-router"},
		{"Antrea", "antrea-agent"},
		{"Weave Net", "weave-net"},
		{"OVN-Kubernetes", "ovnkube-node"},
		{"OpenShift SDN", "sdn"},
		{"Kube-OVN", "kube-ovn-cni"},
		{"Azure Network Policy Manager", "azure-npm"},
		{"kube-network-policies", "kube-network-policies"},
		{"kindnet (since kind 0.24)", "kindnet"},
	}
}

// The network plugin of EKS brings an agent that enforces NetworkPolicies, if it is told to.
const eksPlugin, eksAgent, eksSwitch = "aws-node", "aws-eks-nodeagent", "--enable-network-policy="

func checkNetworkPolicies(seen Seen, _ Target) []Finding {
	const object = "NetworkPolicies"
	var findings []Finding
	for _, set := range seen.DaemonSets.Value {
		findings = append(findings, decideEngine("DaemonSet", set.Namespace, set.Name, set.Status.NumberReady)...)
		if set.Name == eksPlugin {
			findings = append(findings, decideEKS(set))
		}
	}
	for _, deployment := range seen.Deployments.Value {
		findings = append(findings, decideEngine("Deployment", deployment.Namespace, deployment.Name, deployment.Status.ReadyReplicas)...)
	}
	// K3s has it inside its agent, where no object tells of it.
	if slices.ContainsFunc(seen.Nodes.Value, func(node corev1.Node) bool { return strings.Contains(node.Status.NodeInfo.KubeletVersion, "+k3s") }) {
		findings = append(findings, ok(object, "K3s enforces them, unless it was started with --disable-network-policy"))
	}
	switch unknown := seen.DaemonSets.unknown(object); {
	case findings != nil:
		return findings
	case unknown != nil:
		return unknown
	}
	return []Finding{warning(object,
		"no program that enforces them was found, of those that are known: they may be without effect, and with them what closes the network around the Sandboxes of a template. Try it with the commands below: if the client prints server, they are; if it times out, they hold").
		with(tryPolicies()...)}
}

func decideEngine(kind, namespace, name string, ready int32) []Finding {
	for _, engine := range engines() {
		if engine.workload != name {
			continue
		}
		object := fmt.Sprintf("%s %s/%s", kind, namespace, name)
		if ready == 0 {
			return []Finding{warning(object, "%s would enforce NetworkPolicies, but none of its Pods is ready", engine.name).
				with(fmt.Sprintf("kubectl --namespace %s describe %s %s", namespace, strings.ToLower(kind), name))}
		}
		return []Finding{ok(object, "%s enforces NetworkPolicies", engine.name)}
	}
	return nil
}

func decideEKS(set appsv1.DaemonSet) Finding {
	object := fmt.Sprintf("DaemonSet %s/%s", set.Namespace, set.Name)
	for _, container := range set.Spec.Template.Spec.Containers {
		if container.Name == eksAgent && slices.Contains(container.Args, eksSwitch+"true") {
			return ok(object, "the network plugin of EKS enforces NetworkPolicies")
		}
	}
	return warning(object, "the network plugin of EKS enforces NetworkPolicies only if it is told to: set enableNetworkPolicy in the configuration of the add-on vpc-cni").
		with(`aws eks update-addon --cluster-name CLUSTER --addon-name vpc-cni --configuration-values '{"enableNetworkPolicy": "true"}'`)
}

// tryPolicies asks a Pod for a file that a NetworkPolicy keeps from everybody.
func tryPolicies() []string {
	return []string{
		"kubectl create namespace policy-test",
		"kubectl --namespace policy-test run server --image=busybox --port=8080 -- httpd -f -p 8080 -h /etc",
		`printf 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: closed}\nspec: {podSelector: {}, policyTypes: [Ingress]}\n' | kubectl --namespace policy-test apply --filename -`,
		"kubectl --namespace policy-test wait --for=condition=Ready pod/server",
		"kubectl --namespace policy-test run client --image=busybox --rm --stdin --restart=Never -- wget -T 5 -q -O - http://$(kubectl --namespace policy-test get pod server --output jsonpath={.status.podIP}):8080/hostname",
		"kubectl delete namespace policy-test",
	}
}
