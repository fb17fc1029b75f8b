package claims

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// judgePools : each has its members, all of them Ready, and says so.
func (r *rest) judgePools() {
	there := map[string]*extensionsv1beta1.SandboxWarmPool{}
	for i := range r.World.Pools {
		there[r.World.Pools[i].Name] = &r.World.Pools[i]
	}
	for _, name := range slices.Sorted(maps.Keys(r.Pools)) {
		if pool := there[name]; pool != nil {
			r.judgePool(pool, r.Pools[name])
		} else {
			r.fail(KindPool, name, "", "", "it is gone")
		}
	}
}

func (r *rest) judgePool(pool *extensionsv1beta1.SandboxWarmPool, replicas int32) {
	wrong := func(format string, args ...any) { r.fail(KindPool, pool.Name, "", "", format, args...) }
	members := r.owned[pool.UID]
	hashes := map[string]bool{}
	for _, member := range members {
		hashes[member.Labels[extensionsv1beta1.LabelTemplateHash]] = true
	}
	status := pool.Status
	if len(members) != int(replicas) {
		wrong("it has %d members, and is to have %d", len(members), replicas)
	}
	if status.Replicas != replicas || status.ReadyReplicas != replicas || status.ObservedGeneration != pool.Generation {
		wrong("it says that it has %d members, %d of them Ready, in generation %d: want %d and %d", status.Replicas, status.ReadyReplicas,
			status.ObservedGeneration, replicas, pool.Generation)
	}
	isRecreate := pool.Spec.UpdateStrategy.Type == extensionsv1beta1.UpdateStrategyRecreate
	if isRecreate && (len(hashes) > 1 || status.UpdatedReadyReplicas != replicas) {
		wrong("its members are to be of one template: there are %d, and it says that %d members are of the present one", len(hashes), status.UpdatedReadyReplicas)
	}
}

// judgeSandbox : it belongs to a claim or a pool that is there, is Ready, and has its Pod.
func (r *rest) judgeSandbox(sandbox *sandboxv1beta1.Sandbox) {
	wrong := func(format string, args ...any) { r.fail(KindSandbox, sandbox.Name, "", sandbox.Name, format, args...) }
	owner := metav1.GetControllerOfNoCopy(sandbox)
	if sandbox.DeletionTimestamp != nil {
		wrong("it has been terminating since %s (finalizers %v)", sandbox.DeletionTimestamp.UTC(), sandbox.Finalizers)
		return
	}
	if (owner == nil || !r.owners[owner.UID]) && !r.isForgotten(sandbox) {
		wrong("it belongs to %s, and no such claim or pool exists", check.DescribeOwners(sandbox))
	}
	if why := whyNotReady(sandbox.Status.Conditions, sandbox.Generation); why != "" {
		wrong("%s", why)
	}
	pods := r.pods[sandbox.UID]
	if len(pods) != 1 || pods[0].Name != sandbox.Name || pods[0].Status.Phase != corev1.PodRunning {
		wrong("want one Pod that runs, there are %d: %s", len(pods), describePods(pods))
	}
}

// judgeChild : it belongs to a Sandbox that is there, and stays.
func (r *rest) judgeChild(child check.Child) {
	object := child.Object
	if owner := metav1.GetControllerOfNoCopy(object); owner == nil || r.sandboxes[owner.UID] == nil {
		r.fail(child.Kind, object.GetName(), "", child.Sandbox, "it belongs to %s, and no such Sandbox exists", check.DescribeOwners(object))
	}
	if at := object.GetDeletionTimestamp(); at != nil {
		r.fail(child.Kind, object.GetName(), "", child.Sandbox, "it has been terminating since %s (finalizers %v)", at.UTC(), object.GetFinalizers())
	}
}

// whyNotReady is empty if Ready is True for that generation.
func whyNotReady(conditions []metav1.Condition, generation int64) string {
	ready := meta.FindStatusCondition(conditions, sandboxv1beta1.ConditionReady)
	switch {
	case ready == nil:
		return "it has no condition Ready"
	case ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != generation:
		return fmt.Sprintf("want it Ready in generation %d, it says %s (%s: %s) in generation %d",
			generation, ready.Status, ready.Reason, ready.Message, ready.ObservedGeneration)
	}
	return ""
}

func describePods(pods []*corev1.Pod) string {
	var all []string
	for _, pod := range pods {
		all = append(all, fmt.Sprintf("%s (UID %s, %s)", pod.Name, pod.UID, pod.Status.Phase))
	}
	return fmt.Sprint(all)
}
