package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// ended makes a Pod's only container end so long before testNow.
func ended(code int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(testNow.Add(-ago))},
		}}}
	}
}

// deleted makes a Pod one that was asked to go so long before testNow, within a grace period.
func deleted(ago, grace time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: testNow.Add(-ago).Add(grace)}
		p.DeletionGracePeriodSeconds = ptr.To(int64(grace / time.Second))
	}
}

func disrupted(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(testNow),
		})
	}
}

func failuresSoFar(n string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[sandboxv1beta1.AnnotationPodFailures] = n }
}

func startedAgo(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: testNow.Add(-ago)} }
}

func TestAPodEndsByItselfOrIsLost(t *testing.T) {
	cases := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"one that runs has not ended":                      {runningPod(), false},
		"one whose containers ended has":                   {runningPod(ended(0, time.Minute)), true},
		"one that the kubelet evicted has":                 {runningPod(phase(corev1.PodFailed), disrupted(corev1.PodReasonTerminationByKubelet)), true},
		"one that ended and was deleted then has":          {runningPod(ended(1, time.Minute), deleted(30*time.Second, 40*time.Second)), true},
		"one that the kubelet is done with is lost":        {runningPod(ended(137, time.Minute), deleted(time.Second, 0)), false},
		"one that a drain ended is lost":                   {runningPod(ended(137, time.Second), deleted(20*time.Second, 30*time.Second)), false},
		"one that was deleted and tells of no end is lost": {runningPod(phase(corev1.PodFailed), deleted(time.Second, 30*time.Second)), false},
		"one that an eviction is about to delete is lost":  {runningPod(phase(corev1.PodFailed), disrupted("EvictionByEvictionAPI")), false},
		"one whose node is gone is lost":                   {runningPod(phase(corev1.PodFailed), disrupted("DeletionByPodGC")), false},
		"one that a taint is about to delete is lost":      {runningPod(phase(corev1.PodFailed), disrupted("DeletionByTaintManager")), false},
		"one that more important ones push aside is lost":  {runningPod(phase(corev1.PodFailed), disrupted(corev1.PodReasonPreemptionByScheduler)), false},
		"one that was spared in the end may end, as others": {runningPod(ended(1, time.Second), func(p *corev1.Pod) {
			disrupted("EvictionByEvictionAPI")(p)
			p.Status.Conditions[2].Status = corev1.ConditionFalse
		}), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := podEnded(tc.pod); got != tc.want {
				t.Errorf("podEnded = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAFailedPodIsReplacedAfterAGrowingPause(t *testing.T) {
	cases := map[string]struct {
		pod  *corev1.Pod
		want time.Duration // from its end
	}{
		"the first at once":                 {runningPod(ended(1, 0)), 0},
		"the second after ten seconds":      {runningPod(ended(1, 0), failuresSoFar("1")), 10 * time.Second},
		"the third after twenty":            {runningPod(ended(1, 0), failuresSoFar("2")), 20 * time.Second},
		"the sixth after 160":               {runningPod(ended(1, 0), failuresSoFar("5")), 160 * time.Second},
		"then never after more than five":   {runningPod(ended(1, 0), failuresSoFar("6")), 5 * time.Minute},
		"however many there were":           {runningPod(ended(1, 0), failuresSoFar("900000")), 5 * time.Minute},
		"a count that nobody can read is 0": {runningPod(ended(1, 0), failuresSoFar("many")), 0},
		"nor is a negative one a count":     {runningPod(ended(1, 0), failuresSoFar("-3")), 0},
		"one that ran for long starts anew": {runningPod(ended(1, 0), failuresSoFar("5"), startedAgo(11*time.Minute)), 0},
		"one that ran for a while does not": {runningPod(ended(1, 0), failuresSoFar("5"), startedAgo(9*time.Minute)), 160 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := recreateTime(tc.pod, testNow.Add(time.Hour)).Sub(testNow); got != tc.want {
				t.Errorf("it is replaced after %s, want %s", got, tc.want)
			}
		})
	}
}

// A node whose clock is wrong does not put the next Pod off for hours.
func TestAnEndThatLiesAheadIsNotAwaited(t *testing.T) {
	ahead := runningPod(ended(1, -2*time.Hour), failuresSoFar("1"))
	ahead.CreationTimestamp = metav1.NewTime(testNow.Add(-time.Second))
	if got := recreateTime(ahead, testNow); got != ahead.CreationTimestamp.Add(recreateFirst) {
		t.Errorf("the next one is made at %s", got)
	}
	slightly := runningPod(ended(1, -time.Second))
	if got := recreateTime(slightly, testNow); got != testNow.Add(time.Second) {
		t.Errorf("an end a second ahead counts: %s", got)
	}
}

func recreating(s *sandboxv1beta1.Sandbox) {
	s.Spec.PodFailurePolicy = sandboxv1beta1.PodFailurePolicyRecreate
}

// A1.28, decided.
func TestDecideAboutAFailedPod(t *testing.T) {
	failed := runningPod(ended(1, 0), failuresSoFar("1"))
	due := runningPod(ended(1, 10*time.Second), failuresSoFar("1"))
	box := sandboxWith(recreating)
	next := desiredPod(seenWith(box))
	next.Annotations[sandboxv1beta1.AnnotationPodFailures] = "2"
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"it waits for its time":                  {seenWith(box, withPods(failed)), plan{wake: 10 * time.Second}},
		"then another takes its place":           {seenWith(box, withPods(due)), plan{pod: podAction{replace: &podTarget, create: next}}},
		"one of another name only goes":          {seenWith(box, withPods(runningPod(ended(1, time.Hour), func(p *corev1.Pod) { p.Name = "elsewhere" }))), plan{pod: podAction{remove: []target{{name: "elsewhere", uid: "uid-pod"}}}}},
		"one that is on its way out is awaited":  {seenWith(box, withPods(runningPod(ended(1, time.Hour), deleted(time.Second, 0)))), plan{}},
		"one that succeeded stays":               {seenWith(box, withPods(runningPod(ended(0, time.Hour)))), plan{}},
		"under Ignore one that failed stays":     {seenWith(sandboxWith(), withPods(runningPod(ended(1, time.Hour)))), plan{}},
		"a suspended Sandbox just loses its Pod": {seenWith(sandboxWith(recreating, suspended), withPods(due)), plan{pod: podAction{remove: []target{podTarget}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen), cmp.AllowUnexported(plan{}, podAction{}, serviceAction{}, target{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// setPodStatus does the kubelet's part.
func (w world) setPodStatus(patch string) {
	w.t.Helper()
	w.must("setting the Pod's status", w.user.Status().Patch(context.Background(), w.pod(), client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
}

func failedNow() string {
	return fmt.Sprintf(`{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"main","image":"i","imageID":"i","state":{"terminated":{"exitCode":137,"reason":"OOMKilled","finishedAt":%q}}}]}}`,
		time.Now().UTC().Format(time.RFC3339))
}

// waitForAnotherPod waits for a Pod that is not the given one to run, and returns it.
func (w world) waitForAnotherPod(than types.UID) *corev1.Pod {
	w.t.Helper()
	pod := w.pod()
	testkit.Eventually(w.t, "another Pod that runs", func() error {
		if !w.exists(pod) || pod.UID == than || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	return pod
}

// A1.28: opt-in, a failed Pod is replaced, and an Event and a condition say so.
func TestAFailedPodIsReplacedOnRequest(t *testing.T) {
	w := newWorld(t)
	box := w.create(recreating)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	first := w.pod()
	w.get(first)
	w.setPodStatus(failedNow())
	second := w.waitForAnotherPod(first.UID)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	if second.Annotations[sandboxv1beta1.AnnotationPodFailures] != "1" {
		t.Errorf("annotations %v", second.Annotations)
	}

	w.setPodStatus(failedNow())
	testkit.Eventually(t, "the pause is told", func() error {
		w.get(box)
		for _, line := range lines(box.Status.Conditions) {
			if len(line) > 40 && line[:24] == "PodRecreating=True Backi" {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", lines(box.Status.Conditions))
	})
	w.waitForEvent(sandboxv1beta1.ReasonPodFailed, "container main OOMKilled, exit code 137; failed Pods in a row: 2")
	third := w.waitForAnotherPod(second.UID)
	if pause := third.CreationTimestamp.Sub(second.CreationTimestamp.Time); pause < 8*time.Second {
		t.Errorf("replaced after %s", pause)
	}
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

// A1.2, as a real kubelet does it: on its way out the Pod passes through the phase Failed.
func TestADrainedPodIsReplacedThoughItFailsOnItsWayOut(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	pod := w.pod()
	w.get(pod)
	w.patchPod(fmt.Sprintf(`{"metadata":{"annotations":{%q:"yes"}}}`, testkit.HoldAnnotation))
	w.must("draining", w.user.Delete(context.Background(), pod.DeepCopy(), client.GracePeriodSeconds(30)))
	w.waitFor(box, notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is terminating")

	w.setPodStatus(failedNow())
	testkit.Throughout(t, StatusWindow, "the Pod has not ended, it was ended", func() error {
		w.get(box)
		for _, line := range lines(box.Status.Conditions) {
			if line[:8] == "Finished" {
				return fmt.Errorf("%s", line)
			}
		}
		return nil
	})
	w.must("the kubelet is done", w.user.Delete(context.Background(), pod.DeepCopy(), client.GracePeriodSeconds(0)))
	w.waitForAnotherPod(pod.UID)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}
