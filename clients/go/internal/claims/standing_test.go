package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func ready(status metav1.ConditionStatus, reason string, generation int64) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: "so", ObservedGeneration: generation}
}

func TestTheStandingOfAClaim(t *testing.T) {
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		sandbox    string
		want       Standing
	}{
		"nothing was said":                         {nil, "", Standing{State: Waiting}},
		"it is ready":                              {[]metav1.Condition{ready("True", "DependenciesReady", 2)}, "box", Standing{Ready, "DependenciesReady", "so"}},
		"it is ready, but names no Sandbox":        {[]metav1.Condition{ready("True", "DependenciesReady", 2)}, "", Standing{Waiting, "DependenciesReady", "so"}},
		"that was before its last change":          {[]metav1.Condition{ready("True", "DependenciesReady", 1)}, "box", Standing{State: Waiting}},
		"the server observes no generations":       {[]metav1.Condition{ready("True", "DependenciesReady", 0)}, "box", Standing{Ready, "DependenciesReady", "so"}},
		"its pool may still come":                  {[]metav1.Condition{ready("False", "WarmPoolNotFound", 2)}, "", Standing{Waiting, "WarmPoolNotFound", "so"}},
		"its Sandbox is suspended":                 {[]metav1.Condition{ready("False", "SandboxSuspended", 2)}, "box", Standing{Suspended, "SandboxSuspended", "so"}},
		"it expired":                               {[]metav1.Condition{ready("False", "ClaimExpired", 2)}, "", Standing{Failed, "ClaimExpired", "so"}},
		"it expired before it was asked for again": {[]metav1.Condition{ready("False", "ClaimExpired", 1)}, "", Standing{State: Waiting}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			claim.Status.Conditions, claim.Status.Sandbox.Name = test.conditions, test.sandbox
			if diff := cmp.Diff(test.want, OfClaim(claim)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASandboxIsSuspendedOnceItsPodIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		condition metav1.Condition
		want      bool
	}{
		"its Pod is gone":                 {metav1.Condition{Type: "Suspended", Status: "True", ObservedGeneration: 2}, true},
		"its Pod is still there":          {metav1.Condition{Type: "Suspended", Status: "False", ObservedGeneration: 2}, false},
		"it was, before its last change":  {metav1.Condition{Type: "Suspended", Status: "True", ObservedGeneration: 1}, false},
		"nothing was said about this yet": {metav1.Condition{Type: "Ready", Status: "True", ObservedGeneration: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			sb := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			sb.Status.Conditions = []metav1.Condition{test.condition}
			if got := IsSuspended(sb); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	wanted := func(modify ...func(*extensionsv1beta1.SandboxClaim)) *extensionsv1beta1.SandboxClaim {
		claim := &extensionsv1beta1.SandboxClaim{}
		claim.Spec.WarmPoolRef.Name = "pool"
		for _, m := range modify {
			m(claim)
		}
		return claim
	}
	until := func(minutes int) func(*extensionsv1beta1.SandboxClaim) {
		return func(claim *extensionsv1beta1.SandboxClaim) {
			at := metav1.Unix(int64(minutes)*60, 0)
			claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: &at}
		}
	}
	retained := func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownPolicy: extensionsv1beta1.ShutdownPolicyRetain}
	}
	deleted := func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownPolicy: extensionsv1beta1.ShutdownPolicyDelete}
	}
	annotated := func(key, value string) func(*extensionsv1beta1.SandboxClaim) {
		return func(claim *extensionsv1beta1.SandboxClaim) { claim.Annotations = map[string]string{key: value} }
	}
	ending := func(claim *extensionsv1beta1.SandboxClaim) { claim.DeletionTimestamp = &metav1.Time{} }
	for name, test := range map[string]struct {
		existing, wanted *extensionsv1beta1.SandboxClaim
		want             string
	}{
		"none":                                 {wanted(), wanted(), ""},
		"it was renewed":                       {wanted(until(9)), wanted(until(1)), ""},
		"it was renewed where it had no end":   {wanted(until(9)), wanted(), ""},
		"the API server filled in its policy":  {wanted(retained), wanted(until(1)), ""},
		"it has another policy":                {wanted(deleted), wanted(), "has another spec.lifecycle"},
		"it was asked for at another time":     {wanted(annotated("agents.x-k8s.io/client-first-requested-at", "1")), wanted(annotated("agents.x-k8s.io/client-first-requested-at", "2")), ""},
		"others annotated it":                  {wanted(annotated("theirs", "1")), wanted(), ""},
		"it is annotated in another way":       {wanted(annotated("mine", "1")), wanted(annotated("mine", "2")), `has annotation mine "1", not "2"`},
		"it goes, though it is what is wanted": {wanted(ending), wanted(), "is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Difference(test.existing, test.wanted); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
