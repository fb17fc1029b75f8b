package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

// sandboxes is the life of plain Sandboxes. The floor is a client that makes both objects, the Sandbox and a Pod like the
// one that the controller would make, and to which a Ready Pod is all that it wants: it writes no status. It works while
// no controller runs; a controller beside it would act on its Sandboxes, and watching its Pods costs the API server too.
func sandboxes() benchmark {
	return benchmark{
		name:        "sandboxes",
		summary:     "Sandboxes are created, suspended and resumed",
		floor:       "a client makes and removes Sandbox and Pod itself, and waits for the Pod; no controller runs",
		ours:        "a client writes the Sandbox, and waits for its condition",
		controllers: []controller{coreController()},
		load:        whole,
		prepare:     func(context.Context, *scene, side) error { return nil },
		recover:     func(ctx context.Context, r *round) error { return r.clear(ctx) },
		phases: func(c *scene) []phase {
			return []phase{{
				name: "create", pods: 1, judge: judgePods, figures: noFigures,
				floor: step{do: c.createPair, reached: hasReadyPod, want: "a ready Pod"},
				ours:  step{do: c.createSandbox, reached: isReady, want: "Ready=True"},
			}, {
				name: "suspend", judge: judgePods, figures: noFigures,
				floor: step{do: c.suspendPair, reached: hasNoPod, want: "no Pod"},
				ours:  step{do: c.suspendSandbox, reached: isSuspended, want: "Suspended=True"},
			}, {
				name: "resume", pods: 1, judge: judgePods, figures: noFigures,
				floor: step{do: c.resumePair, reached: hasReadyPod, want: "a ready Pod"},
				ours:  step{do: c.resumeSandbox, reached: isReady, want: "Ready=True"},
			}}
		},
	}
}

func noFigures(*round, []sample) []report.Measurement { return nil }

// judgePods finds objects with another number of Pods than they must get, and those of the floor that a controller touched.
func judgePods(r *round, p phase, _ costs) []error {
	var all []error
	for _, name := range r.names {
		r.tracker.look(name, func(v view) {
			switch {
			case len(v.newPods) != p.pods:
				all = append(all, fmt.Errorf("%q got %d Pods, want %d", name, len(v.newPods), p.pods))
			case r.side == floorSide && hasStatus(v.sandbox):
				all = append(all, fmt.Errorf("a controller works on %q; the floor is without one", name))
			}
		})
	}
	return all
}

func hasStatus(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox != nil && len(sandbox.Status.Conditions) > 0
}

func (c clients) createSandbox(ctx context.Context, name string) error {
	_, err := c.create(ctx, desiredSandbox(name))
	return err
}

func (c clients) createPair(ctx context.Context, name string) error {
	sandbox, err := c.create(ctx, desiredSandbox(name))
	if err != nil {
		return err
	}
	return c.createPod(ctx, desiredPod(sandbox))
}

func (c clients) suspendSandbox(ctx context.Context, name string) error {
	return c.setMode(ctx, name, sandboxv1beta1.OperatingModeSuspended)
}

func (c clients) suspendPair(ctx context.Context, name string) error {
	if err := c.suspendSandbox(ctx, name); err != nil {
		return err
	}
	return c.deletePod(ctx, name)
}

func (c clients) resumeSandbox(ctx context.Context, name string) error {
	return c.setMode(ctx, name, sandboxv1beta1.OperatingModeRunning)
}

// resumePair needs the Sandbox for its UID, and takes it from the answer to its own write.
func (c clients) resumePair(ctx context.Context, name string) error {
	sandbox, err := c.patchMode(ctx, name, sandboxv1beta1.OperatingModeRunning)
	if err != nil {
		return err
	}
	return c.createPod(ctx, desiredPod(sandbox))
}

func hasReadyPod(v view) bool {
	if len(v.pods) != 1 {
		return false
	}
	for _, pod := range v.pods {
		return isPodReady(pod)
	}
	return false
}

func isPodReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasNoPod(v view) bool { return len(v.pods) == 0 }

func isReady(v view) bool {
	return hasMode(v, sandboxv1beta1.OperatingModeRunning) && isTrueNow(v.sandbox, sandboxv1beta1.ConditionReady)
}

func isSuspended(v view) bool {
	return hasMode(v, sandboxv1beta1.OperatingModeSuspended) && isTrueNow(v.sandbox, sandboxv1beta1.ConditionSuspended)
}

func hasMode(v view, mode sandboxv1beta1.OperatingMode) bool {
	return v.sandbox != nil && v.sandbox.Spec.OperatingMode == mode
}

// isTrueNow says whether the condition is true of the spec as it is, not as it was.
func isTrueNow(sandbox *sandboxv1beta1.Sandbox, condition string) bool {
	found := meta.FindStatusCondition(sandbox.Status.Conditions, condition)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == sandbox.Generation
}
