package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/conditions"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/reconcile"
)

// pauseOutdated is how soon a Sandbox is decided about anew that changed while it was being deleted.
const pauseOutdated = 100 * time.Millisecond

// pauseAwaited is how soon the cache is looked at again for whether what has to go first is gone, in case no event tells.
const pauseAwaited = time.Second

// report writes what has become of the Sandbox: its status, if it changed, and its Events.
func (r *Reconciler) report(ctx context.Context, s seen, p plan, d done) reconcile.Outcome {
	events.Tell(r.recorder, s.sandbox, d.errors, childEvents(s, p, d)...)
	if d.removed {
		r.pacer.Forget(client.ObjectKeyFromObject(s.sandbox))
		r.metrics.removed(s.sandbox)
		return reconcile.Done()
	}
	r.metrics.watch(s)
	wanted := desiredStatus(afterActing(s, p, d), d.errors, r.clusterDomain)
	held, err := r.writeStatus(ctx, s, wanted, d)
	if err != nil {
		return reconcile.Failed(errors.Join(append(d.errors, err)...))
	}
	return outcome(p, d, held)
}

// writeStatus makes at most one patch. It returns how long the write is held back, in case it is.
func (r *Reconciler) writeStatus(ctx context.Context, s seen, wanted sandboxv1beta1.SandboxStatus, d done) (time.Duration, error) {
	key := client.ObjectKeyFromObject(s.sandbox)
	body, err := apply.Status(s.sandbox.UID, s.sandbox.Status, wanted)
	if err != nil {
		return 0, err
	}
	if body == nil {
		r.pacer.Forget(key)
		return 0, nil
	}
	if held := r.held(key, s, wanted); held > 0 {
		return held, nil
	}
	r.pacer.Forget(key)
	fingerprint, err := names.Fingerprint(wanted)
	if err != nil {
		return 0, err
	}
	r.echoes.Writes(key, fingerprint)
	target := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, body))
	if err != nil {
		// It may have taken effect all the same, or still will. The next pass does not see that yet, so the event must wake one more.
		r.echoes.Forget(key)
		if err = r.ignoreSuccessor(ctx, target, s.sandbox.UID, err); err != nil {
			err = fmt.Errorf("patching the status of Sandbox %q: %w", key.Name, err)
		}
		return 0, err
	}
	events.Tell(r.recorder, s.sandbox, d.errors, statusEvents(s.sandbox, wanted, d)...)
	r.metrics.count(s, wanted)
	return 0, nil
}

// held is how much longer the write of a status is held back.
func (r *Reconciler) held(key types.NamespacedName, s seen, wanted sandboxv1beta1.SandboxStatus) time.Duration {
	window := statusWindow(s.sandbox.Status, wanted)
	if window == 0 {
		return 0
	}
	return r.pacer.Hold(key, s.now, window)
}

// outcome says what wakes the Sandbox next. Whatever went wrong, it wakes when its time has come.
func outcome(p plan, d done, held time.Duration) reconcile.Outcome {
	if d.outdated {
		p.wake = pauseOutdated
	}
	p.wakeWithin(held)
	if slices.ContainsFunc(d.errors, isAwaited) {
		p.wakeWithin(pauseAwaited)
	}
	err := retryable(d.errors)
	switch {
	case err != nil && p.wake > 0 && p.wake <= retryLongest:
		return reconcile.RetryWithin(min(p.wake, retryBeforeWake), err)
	case err != nil:
		return reconcile.Failed(err)
	case len(d.errors) > 0 && p.wake <= 0:
		return reconcile.Stalled(sandboxv1beta1.ReasonInvalidConfiguration)
	default:
		return reconcile.Wait(p.wake)
	}
}

// statusWindow is how long a status is held that is a mere step on the way to Ready, so that the next one, or its delay,
// may be waited for; zero for any other. The first step is soon told. The later ones wait longer: there can be several,
// and where Pods are slow because the API server is busy, a write for each would keep it so.
func statusWindow(stored, wanted sandboxv1beta1.SandboxStatus) time.Duration {
	before := meta.FindStatusCondition(stored.Conditions, sandboxv1beta1.ConditionReady)
	after := meta.FindStatusCondition(wanted.Conditions, sandboxv1beta1.ConditionReady)
	switch {
	case before != nil && before.Status == metav1.ConditionTrue, !isStep(wanted):
		return 0
	case isStep(stored) && before.ObservedGeneration == after.ObservedGeneration:
		return laterWindow
	default:
		return StatusWindow
	}
}

// isStep says whether a status is one of a Sandbox that is on its way to Ready: nothing is wrong, nothing is final.
func isStep(status sandboxv1beta1.SandboxStatus) bool {
	ready := meta.FindStatusCondition(status.Conditions, sandboxv1beta1.ConditionReady)
	return ready != nil && ready.Reason == sandboxv1beta1.ReasonDependenciesNotReady &&
		!meta.IsStatusConditionFalse(status.Conditions, sandboxv1beta1.ConditionPodScheduled)
}

// afterActing is what was seen, with what this pass made of it.
func afterActing(s seen, p plan, d done) seen {
	if d.service != nil {
		s.service = d.service
	}
	if p.service.remove != nil {
		s.service = nil
	}
	if d.pod != nil {
		s.pods, s.foreignPod = []*corev1.Pod{d.pod}, nil
	}
	if len(p.pod.remove) > 0 {
		s.pods = terminating(s.pods, d.kept, s.now)
		s.podsStay = len(d.kept) > 0
	}
	return s
}

// terminating returns copies of pods that are on their way out, but for those kept.
func terminating(pods []*corev1.Pod, kept []types.UID, now time.Time) []*corev1.Pod {
	copies := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		leaving := *pod
		if leaving.DeletionTimestamp == nil && !slices.Contains(kept, pod.UID) {
			leaving.DeletionTimestamp = &metav1.Time{Time: now}
		}
		copies = append(copies, &leaving)
	}
	return copies
}

// desiredStatus is the whole status of a Sandbox, from what is so now.
func desiredStatus(s seen, failures []error, clusterDomain string) sandboxv1beta1.SandboxStatus {
	status := sandboxv1beta1.SandboxStatus{Conditions: allConditions(s, failures)}
	if s.expired() {
		return status
	}
	status.LabelSelector = selector(s)
	multiple := len(s.pods) > 1
	if hasService(s) && !multiple {
		status.Service = s.service.Name
		status.ServiceFQDN = fmt.Sprintf("%s.%s.svc.%s", s.service.Name, s.service.Namespace, clusterDomain)
	}
	if s.podsUnknown {
		status.PodIPs, status.NodeName = s.sandbox.Status.PodIPs, s.sandbox.Status.NodeName
	}
	if pod := s.pod(); pod != nil {
		status.NodeName = pod.Spec.NodeName
		for _, ip := range pod.Status.PodIPs {
			status.PodIPs = append(status.PodIPs, ip.IP)
		}
	}
	return status
}

// selector is known from the first Pod on.
func selector(s seen) string {
	if len(s.pods) == 0 && s.sandbox.Status.LabelSelector == "" {
		return ""
	}
	return sandboxv1beta1.LabelSandboxNameHash + "=" + nameHashLabel(s.sandbox)[sandboxv1beta1.LabelSandboxNameHash]
}

// ownConditions are the types that this controller writes; the others in a status are somebody else's.
func ownConditions() []string {
	return []string{
		sandboxv1beta1.ConditionSuspended, sandboxv1beta1.ConditionPodScheduled, sandboxv1beta1.ConditionReady,
		sandboxv1beta1.ConditionPodTemplateDrifted, sandboxv1beta1.ConditionPodRecreating, sandboxv1beta1.ConditionFinished,
	}
}

func allConditions(s seen, failures []error) []metav1.Condition {
	var all []metav1.Condition
	for _, current := range []*metav1.Condition{
		suspendedCondition(s), scheduledCondition(s), readyCondition(s, failures), driftedCondition(s), recreatingCondition(s),
	} {
		if current != nil {
			current.ObservedGeneration = s.sandbox.Generation
			all = append(all, *current)
		}
	}
	if finished := finishedCondition(s); finished != nil {
		kept := *finished
		if s.pod() != nil {
			kept.ObservedGeneration = s.sandbox.Generation
		}
		all = append(all, kept)
	}
	return conditions.Settle(ownConditions(), s.sandbox.Status.Conditions, all, metav1.NewTime(s.now))
}
