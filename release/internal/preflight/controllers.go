package preflight

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// leaseSuffix ends the name of the Lease by which the replicas of a Deployment elect a leader, after the Deployment's name.
const leaseSuffix = ".agents.x-k8s.io"

// workload is a Deployment or StatefulSet that may run a controller.
type workload struct {
	metav1.ObjectMeta

	kind     string
	replicas int32
	ready    int32
	selector *metav1.LabelSelector
	pod      corev1.PodSpec
}

func (w workload) String() string { return fmt.Sprintf("%s %s/%s", w.kind, w.Namespace, w.Name) }

func workloads(seen Seen) []workload {
	var all []workload
	for _, d := range seen.Deployments.Value {
		all = append(all, workload{d.ObjectMeta, "Deployment", ptr.Deref(d.Spec.Replicas, 1), d.Status.AvailableReplicas, d.Spec.Selector, d.Spec.Template.Spec})
	}
	for _, s := range seen.StatefulSets.Value {
		all = append(all, workload{s.ObjectMeta, "StatefulSet", ptr.Deref(s.Spec.Replicas, 1), s.Status.AvailableReplicas, s.Spec.Selector, s.Spec.Template.Spec})
	}
	return all
}

// controllerNames are those of our Deployments and images, and of the public project's, whichever of them is installed.
func controllerNames() []string {
	return []string{"agent-sandbox-controller", "agent-sandbox-extensions-controller"}
}

// looksLikeOne says whether it runs a controller of Sandboxes, by its name or by an image's.
func (w workload) looksLikeOne() bool {
	return slices.Contains(controllerNames(), w.Name) || slices.ContainsFunc(w.pod.Containers, func(container corev1.Container) bool {
		return slices.Contains(controllerNames(), imageName(container.Image))
	})
}

// imageName is the last part of an image's path, without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	last, _, _ := strings.Cut(path.Base(image), ":")
	return last
}

func checkControllers(seen Seen, target Target) []Finding {
	var findings []Finding
	for _, w := range workloads(seen) {
		if w.looksLikeOne() {
			findings = append(findings, decideController(w, target))
		}
	}
	if findings == nil && seen.Deployments.unknown("") == nil {
		findings = append(findings, ok("Deployments", "none looks like a controller of Sandboxes"))
	}
	findings = append(findings, seen.Deployments.unknown("Deployments")...)
	return append(findings, seen.StatefulSets.unknown("StatefulSets")...)
}

func decideController(have workload, target Target) Finding {
	stop := fmt.Sprintf("kubectl --namespace %s scale %s %s --replicas=0", have.Namespace, strings.ToLower(have.kind), have.Name)
	want := sameDeployment(have, target)
	switch {
	case have.Namespace == target.namespace && slices.Contains(controllerNames(), have.Name) && have.kind == "Deployment" && oursByLabels(have):
		return available(have)
	case want != nil:
		return takeover(have, want)
	case have.replicas == 0:
		return warning(have.String(), "it looks like a controller of Sandboxes, and is stopped: leave it so, or remove it")
	}
	return blocked(have.String(), "it looks like another controller of Sandboxes, and is at work: two of them would fight over the same Sandboxes. Stop it first, or remove its installation without its CRDs").with(stop)
}

func oursByLabels(have workload) bool {
	return have.Labels[partOfLabel] == "agent-sandbox" && have.Labels[nameLabel] == have.Name
}

// sameDeployment is the one that is to be installed in its place, if any.
func sameDeployment(have workload, target Target) *appsv1.Deployment {
	for _, want := range target.deployments() {
		if have.kind == "Deployment" && have.Namespace == want.Namespace && have.Name == want.Name {
			return want
		}
	}
	return nil
}

func available(have workload) Finding {
	version := have.Labels["app.kubernetes.io/version"]
	switch {
	case have.replicas == 0:
		return warning(have.String(), "it is ours (%s), and scaled to 0: no Sandbox is looked after, unless a controller runs elsewhere", version).
			with(fmt.Sprintf("kubectl --namespace %s scale deployment %s --replicas=1", have.Namespace, have.Name))
	case have.ready == 0:
		return warning(have.String(), "it is ours (%s), and none of its %d replicas is available: no Sandbox is looked after", version, have.replicas).
			with(fmt.Sprintf("kubectl --namespace %s describe deployment,replicaset,pod --selector app=%s", have.Namespace, have.Name))
	}
	return ok(have.String(), "it is ours (%s), %d of %d replicas are available", version, have.ready, have.replicas)
}

// takeover: somebody else's Deployment stands where ours is to be. Its selector cannot be changed.
func takeover(have workload, want *appsv1.Deployment) Finding {
	if !apiequality.Semantic.DeepEqual(have.selector, want.Spec.Selector) {
		return blocked(have.String(), "it is of somebody else's installation and has the name of ours, with another selector, which cannot be changed: delete it first. Pods of Sandboxes run on").
			with(fmt.Sprintf("kubectl --namespace %s delete deployment %s", have.Namespace, have.Name))
	}
	return warning(have.String(), "it is of somebody else's installation and has the name of ours: ours takes its place, and what else that installation has, such as roles and webhooks, stays")
}

func checkLeases(seen Seen, _ Target) []Finding {
	const object = "Leases"
	if unknown := seen.Leases.unknown(object); unknown != nil {
		return unknown
	}
	var findings []Finding
	for _, lease := range seen.Leases.Value {
		if held := ptr.Deref(lease.Spec.HolderIdentity, "") != "" && !expired(seen.Now, lease); held {
			findings = append(findings, decideLease(lease)...)
		}
	}
	if findings == nil {
		return []Finding{ok(object, "none is held that our controllers would wait for")}
	}
	return findings
}

// decideLease judges a Lease that somebody holds. Holders begin with the name of their Pod or machine.
func decideLease(lease coordinationv1.Lease) []Finding {
	object := fmt.Sprintf("Lease %s/%s", lease.Namespace, lease.Name)
	holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	deployment, isOurs := strings.CutSuffix(lease.Name, leaseSuffix)
	isOurs = isOurs && slices.Contains(controllerNames(), deployment)
	switch {
	case isOurs && strings.HasPrefix(holder, deployment+"-"):
		return []Finding{ok(object, "a Pod of the Deployment %s holds it", deployment)}
	case isOurs:
		return []Finding{warning(object, "%s holds it, which is no Pod of the Deployment %s, but perhaps a controller outside the cluster: our Pods do nothing until it stops", holder, deployment)}
	case strings.Contains(lease.Name, "agent-sandbox") || strings.Contains(lease.Name, "agents.x-k8s.io"):
		return []Finding{warning(object, "%s holds it, which looks like another controller of Sandboxes: it and ours do not wait for each other, and would fight. Stop it first", holder)}
	}
	return nil
}

func expired(now time.Time, lease coordinationv1.Lease) bool {
	if lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return true
	}
	return now.After(lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second))
}
