package chaos

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

// lossy is a client that does the first write of a kind and loses the answer.
func lossy(t *testing.T, verb schedule.Kind, after func(client.WithWatch)) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := extensionsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	lost := false
	answer := func(c client.WithWatch, of schedule.Kind, err error) error {
		if of != verb || lost || err != nil {
			return err
		}
		lost = true
		after(c)
		return syscall.ECONNRESET
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return answer(c, schedule.Create, c.Create(ctx, object, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return answer(c, schedule.Expire, c.Patch(ctx, object, patch, options...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return answer(c, schedule.Delete, c.Delete(ctx, object, options...))
		},
	}).Build()
}

func TestClaimUsersSettleWhatWasNotAnswered(t *testing.T) {
	ends := func(t *testing.T) func(client.WithWatch) {
		return func(c client.WithWatch) {
			if err := c.DeleteAllOf(t.Context(), &extensionsv1beta1.SandboxClaim{}, client.InNamespace("agent-sandbox-chaos-claims")); err != nil {
				t.Error(err)
			}
		}
	}
	nothing := func(*testing.T) func(client.WithWatch) { return func(client.WithWatch) {} }
	create := schedule.ClaimAction{Kind: schedule.Create}
	cases := map[string]struct {
		lost    schedule.Kind
		after   func(*testing.T) func(client.WithWatch)
		actions []schedule.ClaimAction
		exists  bool
		broken  bool
	}{
		"a creation that was done":             {schedule.Create, nothing, []schedule.ClaimAction{create}, true, false},
		"a creation that was done and undone":  {schedule.Create, ends, []schedule.ClaimAction{create}, true, false},
		"a deletion that was done":             {schedule.Delete, nothing, []schedule.ClaimAction{create, {Kind: schedule.Delete}}, false, false},
		"an expiry after which the claim went": {schedule.Expire, ends, []schedule.ClaimAction{create, {Kind: schedule.Expire, Policy: extensionsv1beta1.ShutdownPolicyDelete}}, false, false},
		"an expiry after which it was to stay": {schedule.Expire, ends, []schedule.ClaimAction{create, {Kind: schedule.Expire, Policy: extensionsv1beta1.ShutdownPolicyRetain}}, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := Settings{Subject: Claims, Variant: Elected, Progress: io.Discard}
			p := newPlay(Stage{}, settings, lossy(t, c.lost, c.after(t)), newDiary(time.Now(), io.Discard))
			u := &claimUser{play: p, pools: pools(), name: "claim", account: &claims.Account{}}
			err := u.run(t.Context(), c.actions, time.Now())
			if c.broken != (err != nil) {
				t.Fatalf("got %v, want a violation: %t", err, c.broken)
			}
			if there := u.account.Claim != nil; !c.broken && there != c.exists {
				t.Errorf("the user thinks that the claim is there: %t, want %t", there, c.exists)
			}
		})
	}
}
