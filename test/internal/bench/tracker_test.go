package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

func sandboxOf(name string, mutate ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	sandbox := desiredSandbox(name)
	sandbox.UID, sandbox.Generation = types.UID(name), 2
	sandbox.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning
	for _, m := range mutate {
		m(sandbox)
	}
	return sandbox
}

func ready(generation int64) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Status.Conditions = []metav1.Condition{{
			Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: generation, Reason: "Why",
		}}
	}
}

// podOf returns a Pod of the Sandbox "a".
func podOf(uid string, conditions ...corev1.PodCondition) *corev1.Pod {
	pod := desiredPod(sandboxOf("a"))
	pod.UID = types.UID(uid)
	pod.Status.Conditions = conditions
	return pod
}

func readiness(status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodReady, Status: status}
}

func newTestTracker(objects ...any) *tracker {
	t := newTracker()
	for _, obj := range objects {
		t.see(obj, present)
	}
	return t
}

func TestGoalsAreReachedByWhatIsSeen(t *testing.T) {
	isReadyPod := readiness(corev1.ConditionTrue)
	for _, tt := range []struct {
		name string
		goal func(view) bool
		seen any
		want bool
	}{
		{"a ready Sandbox", isReady, sandboxOf("a", ready(2)), true},
		{"a Sandbox that was ready before its spec changed", isReady, sandboxOf("a", ready(1)), false},
		{"a Sandbox without a status", isReady, sandboxOf("a"), false},
		{"another Sandbox", isReady, sandboxOf("b", ready(2)), false},
		{"a ready Sandbox that was meant to be suspended", isSuspended, sandboxOf("a", ready(2)), false},
		{"a ready Pod", hasReadyPod, podOf("1", isReadyPod), true},
		{"a Pod that is not ready", hasReadyPod, podOf("1", readiness(corev1.ConditionFalse)), false},
		{"a Pod without conditions", hasReadyPod, podOf("1"), false},
		{"a Pod when there should be none", hasNoPod, podOf("1"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker := newTestTracker()
			reached := tracker.await("a", tt.goal)
			tracker.see(tt.seen, present)
			if got := len(reached) == 1; got != tt.want {
				t.Errorf("reached: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestGoalOfNoPodIsReachedByItsEnd(t *testing.T) {
	tracker := newTestTracker(podOf("1"))
	reached := tracker.await("a", hasNoPod)
	tracker.see(cache.DeletedFinalStateUnknown{Obj: podOf("1")}, gone)
	if len(reached) != 1 {
		t.Error("the Pod is gone, and nobody was told")
	}
	if !tracker.empty() {
		t.Error("the tracker is not empty")
	}
}

func TestChecksOfARound(t *testing.T) {
	made := phase{name: "create", pods: 1, judge: judgePods, floor: step{reached: hasReadyPod, want: "a ready Pod"}, ours: step{reached: isReady, want: "Ready=True"}}
	readyPod := podOf("1", readiness(corev1.ConditionTrue))
	for _, tt := range []struct {
		name string
		side side
		seen []any
		want string // in the error; empty: none
	}{
		{"one Pod, ready", floorSide, []any{sandboxOf("a"), readyPod}, ""},
		{"one Sandbox, ready, with its Pod", oursSide, []any{sandboxOf("a", ready(2)), readyPod}, ""},
		{"a second Pod", oursSide, []any{sandboxOf("a", ready(2)), readyPod, podOf("2")}, `"a" got 2 Pods, want 1`},
		{"no Pod", oursSide, []any{sandboxOf("a", ready(2))}, `"a" got 0 Pods, want 1`},
		{"a Sandbox that is ready no longer", oursSide, []any{sandboxOf("a", ready(1)), readyPod}, "has lost what it had reached, Ready=True"},
		{"a controller beside the floor", floorSide, []any{sandboxOf("a", ready(2)), readyPod}, `a controller works on "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{scene: &scene{tracker: newTestTracker(tt.seen...)}, side: tt.side, label: "round 1", names: []string{"a"}}
			err := errors.Join(r.check(made, costs{})...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCensusListsWhatIsThere(t *testing.T) {
	tracker := newTestTracker(sandboxOf("a"), podOf("1"), sandboxOf("b"), claimOf("c", "b"), claimOf("d", ""))
	tracker.see(sandboxOf("b"), gone)
	tracker.see(claimOf("d", ""), gone)
	want := census{claims: []string{"c"}, sandboxes: []string{"a"}, pods: []string{"a"}}
	if diff := cmp.Diff(want, tracker.census(), cmp.AllowUnexported(census{})); diff != "" {
		t.Errorf("census (-want +got):\n%s", diff)
	}
}

func TestPodsOfAnEarlierPhaseAreNotNew(t *testing.T) {
	tracker := newTestTracker(podOf("1"))
	tracker.beginPhase()
	tracker.see(podOf("1", readiness(corev1.ConditionTrue)), present)
	tracker.see(podOf("2"), present)
	tracker.look("a", func(v view) {
		if len(v.newPods) != 1 || !v.newPods["2"] {
			t.Errorf("new Pods: %v, want the second", v.newPods)
		}
	})
}
