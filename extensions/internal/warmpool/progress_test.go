package warmpool

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// readyFor makes it a member that became Ready so long ago.
func readyFor(age time.Duration) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions[0].LastTransitionTime.Time = testNow.Add(-age) }
}

// arrived lets a member have become Ready so long ago that is the pool's no more.
func arrived(age time.Duration) func(*seen) {
	return func(s *seen) { s.arrived = testNow.Add(-age) }
}

// A4.21: an image that cannot start is told apart from a rollout that takes its time.
func TestAPoolSaysThatItDoesNotProgress(t *testing.T) {
	const (
		progressing, stuck, template = extensionsv1beta1.ReasonWarmPoolProgressing, extensionsv1beta1.ReasonWarmPoolNotProgressing, extensionsv1beta1.ReasonSandboxTemplateError
		pending                      = "Members do not become Ready: DependenciesNotReady: Pod is pending"
		before                       = "what it said before"
	)
	// said was a minute ago.
	said := func(reason string) func(*extensionsv1beta1.SandboxWarmPool) {
		return func(p *extensionsv1beta1.SandboxWarmPool) {
			p.Status.Conditions = []metav1.Condition{{
				Type: extensionsv1beta1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: reason, Message: before,
				LastTransitionTime: metav1.NewTime(testNow.Add(-time.Minute)),
			}}
		}
	}
	waiting := func(n int, age time.Duration, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
		box := member(n, append([]func(*sandboxv1beta1.Sandbox){unreadyFor(age)}, modify...)...)
		box.Status.Conditions[0].Message = "Pod is pending"
		return box
	}
	cases := map[string]struct {
		seen            seen
		reason, message string
	}{
		"a full pool": {seenOf(poolOf(1), with(member(1))), progressing, messageProgressing},
		"one with an orphan (A4.14)": {
			seenOf(poolOf(1), with(member(1)), func(s *seen) { s.orphans = []string{"lost"} }), progressing,
			messageProgressing + `; Sandbox "lost" has its label and no owner: it is ignored`,
		},
		"one with several": {
			seenOf(poolOf(1), with(member(1)), func(s *seen) { s.orphans = []string{"a", "b"} }), progressing,
			messageProgressing + `; 2 Sandboxes have its label and no owner, "a" among them: they are ignored`,
		},
		"one with members on a closed node": {
			seenOf(poolOf(2), with(member(1), member(2)), closedFor(time.Minute, member(2))), progressing,
			messageProgressing + "; members on nodes that are cordoned, not ready or being emptied, which no claim is given: 1",
		},
		"which are no sign that the others cannot start": {
			seenOf(poolOf(2), with(member(1, readyFor(time.Hour)), waiting(2, time.Minute)), closedFor(time.Hour, member(1))), progressing,
			messageProgressing + "; members on nodes that are cordoned, not ready or being emptied, which no claim is given: 1",
		},
		"an empty one that is filled":    {seenOf(poolOf(1)), progressing, messageProgressing},
		"one whose members take a while": {seenOf(poolOf(2), with(member(1, readyFor(time.Hour)), waiting(2, time.Minute))), progressing, messageProgressing},
		"a member has had its time":      {seenOf(poolOf(1), with(waiting(1, 6*time.Minute))), stuck, pending},
		"though others are ready":        {seenOf(poolOf(2), with(member(1, readyFor(time.Hour)), waiting(2, 6*time.Minute))), stuck, pending},
		"unless one of them became so in that time": {
			seenOf(poolOf(2), with(member(1, readyFor(time.Minute)), waiting(2, 6*time.Minute))), progressing, messageProgressing,
		},
		"one of the former template does not count": {
			seenOf(poolOf(2), with(member(1, readyFor(time.Minute), stale), waiting(2, 6*time.Minute))), stuck, pending,
		},
		"nor does a pool that has what it wants":   {seenOf(poolOf(1), with(member(1, readyFor(time.Hour)), waiting(2, 6*time.Minute))), progressing, messageProgressing},
		"it stays so while those that follow wait": {seenOf(poolOf(1, said(stuck)), with(waiting(2, time.Second))), stuck, pending},
		"and before they are there":                {seenOf(poolOf(1, said(stuck))), stuck, before},
		"until one of them is ready": {
			seenOf(poolOf(2, said(stuck)), with(member(1, readyFor(time.Second)), waiting(2, time.Second))), progressing, messageProgressing,
		},
		"one that was ready before is none of them": {
			seenOf(poolOf(2, said(stuck)), with(member(1, readyFor(time.Hour)), waiting(2, time.Second))), stuck, pending,
		},
		"or was, and is taken already": {
			seenOf(poolOf(2, said(stuck)), with(waiting(2, time.Second)), arrived(time.Second)), progressing, messageProgressing,
		},
		"not one that was taken before": {seenOf(poolOf(2, said(stuck)), with(waiting(2, time.Second)), arrived(time.Hour)), stuck, pending},
		"a member has had its time in which others were taken": {
			seenOf(poolOf(2), with(waiting(1, 6*time.Minute)), arrived(time.Minute)), progressing, messageProgressing,
		},
		"but for that they have to be newer than its time": {
			seenOf(poolOf(2), with(waiting(1, 6*time.Minute)), arrived(time.Hour)), stuck, pending,
		},
		"or the template is another":       {seenOf(poolOf(1, said(stuck)), with(waiting(1, time.Second, stale))), progressing, messageProgressing},
		"or fewer are wanted":              {seenOf(poolOf(0, said(stuck))), progressing, messageProgressing},
		"a template that came is no fault": {seenOf(poolOf(1, said(template)), with(waiting(1, time.Second))), progressing, messageProgressing},
		"a member finds no node": {
			seenOf(poolOf(1), with(waiting(1, 6*time.Minute, scheduled("False", "Unschedulable")))), stuck, "Unschedulable: ",
		},
		"a quota keeps it from its Pod": {seenOf(poolOf(1), with(member(1, unreadyBy(sandboxv1beta1.ReasonQuotaExceeded)))), stuck, "QuotaExceeded: "},
		"its RuntimeClass is not there": {seenOf(poolOf(1), with(member(1, unreadyBy(sandboxv1beta1.ReasonRuntimeClassNotFound)))), stuck, "RuntimeClassNotFound: "},
		"the Pod is refused":            {seenOf(poolOf(1), with(member(1, refusedPod))), template, "InvalidConfiguration: "},
		"nobody has told of a member": {
			seenOf(poolOf(1), with(waiting(1, 6*time.Minute, func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions[0].Type = "Other" }))),
			stuck, "Members do not become Ready: " + messageUnseen,
		},
		"there is no template": {seenOf(poolOf(1), func(s *seen) { s.template = nil }), template, `SandboxTemplate "agent" not found`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := progressingCondition(tc.seen, testLimits, done{})
			status := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[tc.reason == progressing]
			if got.Status != status || got.Reason != tc.reason || got.Message != tc.message {
				t.Errorf("Progressing=%s %s: %s", got.Status, got.Reason, got.Message)
			}
		})
	}
	invalid := invalidMember()
	for reason, err := range map[string]error{
		stuck: apierrors.NewForbidden(schema.GroupResource{Resource: "sandboxes"}, "pool-1", nil), template: invalid,
	} {
		if got := progressingCondition(seenOf(poolOf(1)), testLimits, done{errors: []error{err}}); got.Reason != reason {
			t.Errorf("after %v: Progressing=%s %s: %s", err, got.Status, got.Reason, got.Message)
		}
	}
}
