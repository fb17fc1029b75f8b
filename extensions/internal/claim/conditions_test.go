package claim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// statusLine is what a claim tells, on one line each.
func statusLines(status extensionsv1beta1.SandboxClaimStatus) []string {
	lines := []string{fmt.Sprintf("sandbox %q %v", status.Sandbox.Name, status.Sandbox.PodIPs)}
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s (generation %d)", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration))
	}
	return lines
}

func TestWhatAClaimTells(t *testing.T) {
	ready := readyAs(metav1.Condition{Status: metav1.ConditionTrue, Reason: "DependenciesReady", Message: "Pod is Ready", ObservedGeneration: 9})
	withIP := func(s *sandboxv1beta1.Sandbox) { s.Status.PodIPs = []string{"10.0.0.1"} }
	ended := func(s *sandboxv1beta1.Sandbox) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: sandboxv1beta1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "PodSucceeded", Message: "Pod completed successfully", ObservedGeneration: 9,
		})
	}
	expiredNow := expires(testNow, "")
	cases := map[string]struct {
		seen seen
		done done
		want []string
	}{
		"the Sandbox that it has just got (A3.17, A3.19)": {
			seenWith(claimWith()), done{sandbox: ownSandbox(1, ready, withIP)},
			[]string{`sandbox "box-1" [10.0.0.1]`, "Ready=True DependenciesReady: Pod is Ready (generation 3)"},
		},
		"the one that it has published": {
			seenWith(claimWith(publishing("box-2")), owning(ownSandbox(1, ready), ownSandbox(2, ready, withIP))), done{},
			[]string{`sandbox "box-2" [10.0.0.1]`, "Ready=True DependenciesReady: Pod is Ready (generation 3)"},
		},
		"the oldest of those that it has published none of": {
			seenWith(claimWith(), owning(ownSandbox(1, leaving), ownSandbox(2), ownSandbox(3))), done{},
			[]string{`sandbox "box-2" []`, "Ready=False SandboxNotReady: Sandbox is not ready (generation 3)"},
		},
		"one on its way out": {
			seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1, ready, leaving))), done{},
			[]string{`sandbox "box-1" []`, "Ready=False SandboxNotReady: Sandbox is not ready (generation 3)"},
		},
		"one that expired by itself": {
			seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1, readyAs(metav1.Condition{Status: metav1.ConditionFalse, Reason: "SandboxExpired"})))), done{},
			[]string{`sandbox "box-1" []`, "Ready=False SandboxExpired: Underlying Sandbox resource has expired independently of the Claim. (generation 3)"},
		},
		"one that has ended": {
			seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1, ready, ended))), done{},
			[]string{`sandbox "box-1" []`, "Ready=True DependenciesReady: Pod is Ready (generation 3)", "Finished=True PodSucceeded: Pod completed successfully (generation 3)"},
		},
		"none yet": {seenWith(claimWith()), done{}, []string{`sandbox "" []`, "Ready=False SandboxMissing: Sandbox does not exist (generation 3)"}},
		"that it is refused one": {
			seenWith(claimWith()), done{errors: []error{refusal{"WarmPoolNotFound", `SandboxWarmPool "pool" not found`}}},
			[]string{`sandbox "" []`, `Ready=False WarmPoolNotFound: SandboxWarmPool "pool" not found (generation 3)`},
		},
		"what went wrong": {
			seenWith(claimWith()), done{errors: []error{errors.New("no answer")}},
			[]string{`sandbox "" []`, "Ready=False ReconcilerError: Error seen: no answer (generation 3)"},
		},
		"what went wrong, without losing its Sandbox (A3.10)": {
			seenWith(claimWith(publishing("box-1"))), done{errors: []error{errors.New("no answer")}},
			[]string{`sandbox "box-1" []`, "Ready=False ReconcilerError: Error seen: no answer (generation 3)"},
		},
		"what went wrong, without publishing another of its own": {
			seenWith(claimWith(publishing("box-1")), owning(ownSandbox(2, ready, withIP))), done{errors: []error{errors.New("no answer")}},
			[]string{`sandbox "box-1" []`, "Ready=False ReconcilerError: Error seen: no answer (generation 3)"},
		},
		"that its Sandbox is gone, and which took its place": {
			seenWith(claimWith(publishing("box-1")), owning(ownSandbox(2, ready, withIP)), func(s *seen) { s.replaced = true }), done{},
			[]string{`sandbox "box-2" [10.0.0.1]`, "Ready=True DependenciesReady: Pod is Ready (generation 3)"},
		},
		"that its Sandbox is gone (A3.13)": {
			seenWith(claimWith(publishing("box-1")), func(s *seen) { s.replaced = true }), done{errors: []error{refusal{"WarmPoolNotFound", "gone"}}},
			[]string{`sandbox "" []`, "Ready=False WarmPoolNotFound: gone (generation 3)"},
		},
		"that it has expired": {
			seenWith(claimWith(publishing("box-1"), expiredNow), owning(ownSandbox(1, ready, withIP))), done{},
			[]string{`sandbox "" []`, "Ready=False ClaimExpired: Claim expired. Sandbox cleanup initiated. (generation 3)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, statusLines(desiredStatus(tc.seen, tc.done))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// What happened is told once, and the loss of a Sandbox also when the one in its place has its name.
func TestWhatHappenedToAClaim(t *testing.T) {
	warm := func(s *sandboxv1beta1.Sandbox) {
		s.Labels[sandboxv1beta1.LabelLaunchType] = sandboxv1beta1.LaunchTypeWarm
	}
	lost := func(s *seen) { s.replaced = true }
	cases := map[string]struct {
		seen seen
		done done
		want []string
	}{
		"it took a member":                      {seenWith(claimWith()), done{sandbox: ownSandbox(1, warm)}, []string{"SandboxAdopted"}},
		"it started one":                        {seenWith(claimWith()), done{sandbox: ownSandbox(1)}, []string{"SandboxProvisioned"}},
		"it has what it had":                    {seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1))), done{}, nil},
		"another takes the place of a lost one": {seenWith(claimWith(publishing("box-2")), lost), done{sandbox: ownSandbox(1, warm)}, []string{"SandboxReplaced", "SandboxAdopted"}},
		"one of the lost one's name does":       {seenWith(claimWith(publishing("box-1")), lost), done{sandbox: ownSandbox(1)}, []string{"SandboxReplaced", "SandboxProvisioned"}},
		"it is lost, and there is no other":     {seenWith(claimWith(publishing("box-1")), lost), done{errors: []error{errors.New("no")}}, []string{"SandboxReplaced"}},
		"it expires":                            {seenWith(claimWith(publishing("box-1"), expires(testNow, "")), owning(ownSandbox(1))), done{}, []string{"ClaimExpired"}},
		"it expires, and its Sandbox was gone":  {seenWith(claimWith(publishing("box-1"), expires(testNow, "")), lost), done{}, []string{"ClaimExpired"}},
		"it has expired, which has been told":   {seenWith(claimWith(expires(testNow, ""), told(expiredCondition))), done{}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var reasons []string
			for _, event := range statusEvents(tc.seen, tc.done, desiredStatus(tc.seen, tc.done)) {
				reasons = append(reasons, event.Reason)
			}
			if diff := cmp.Diff(tc.want, reasons); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}
