package chaos

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// claimUser does what the schedule says to the claim of one name.
type claimUser struct {
	*play
	pools   []pool
	name    string
	account *claims.Account
	// made counts the claims of this name, so that an answer that was lost can be told from another's claim.
	made int
	// last is the UID of the last claim of the name.
	last types.UID
}

// run does everything in its time, or as soon as possible after. The error is a check.Violation when the claim is not what the
// user has made it.
func (u *claimUser) run(ctx context.Context, actions []schedule.ClaimAction, began time.Time) error {
	for _, action := range actions {
		if err := sleepUntil(ctx, began.Add(action.At)); err != nil {
			return err
		}
		u.diary.note(u.name, "user: %s", action)
		if err := u.act(ctx, action); err != nil {
			return err
		}
		u.tally.change(func(c *counts) { c.actions[action.Kind]++ })
	}
	return nil
}

func (u *claimUser) act(ctx context.Context, action schedule.ClaimAction) error {
	switch action.Kind {
	case schedule.Create:
		return u.create(ctx, action.Shape)
	case schedule.Expire:
		return u.patch(ctx, time.Now().Add(action.Shutdown), action.Policy)
	case schedule.Revive:
		return u.patch(ctx, time.Now().Add(farFuture), extensionsv1beta1.ShutdownPolicyRetain)
	case schedule.Delete:
		return u.delete(ctx, action.Cascade)
	case schedule.Recreate:
		if err := u.delete(ctx, action.Cascade); err != nil {
			return err
		}
		return u.create(ctx, action.Shape)
	case schedule.DeleteSandbox:
		return u.deleteSandbox(ctx, action.Cascade)
	default:
		return fmt.Errorf("no user of a claim knows how to %s", action.Kind)
	}
}

// create makes the claim. When its name is taken by one that was deleted, it waits for that to go; when it is taken by one that
// may expire at any time, it leaves it alone.
func (u *claimUser) create(ctx context.Context, shape schedule.ClaimShape) error {
	u.made++
	deadline := time.Now().Add(namePatience)
	for {
		var claim *extensionsv1beta1.SandboxClaim
		err := u.persist(ctx, func() error {
			claim = desiredClaim(u.settings.namespace(), u.name, u.pools[shape.Pool].name, shape, time.Now())
			claim.Annotations = map[string]string{attempt: fmt.Sprint(u.made)}
			return u.client.Create(ctx, claim)
		})
		if apierrors.IsAlreadyExists(err) {
			claim, err = u.settle(ctx, err)
		}
		switch {
		case err == nil:
			return u.created(claim)
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("creating claim %q: %w", u.name, err)
		case u.account.Claim != nil:
			u.miss()
			return nil
		case time.Now().After(deadline):
			return u.violation("it was deleted and its name is still taken after %s", namePatience)
		}
		if u.outages.disturbed(time.Now()) {
			deadline = time.Now().Add(namePatience) // nobody can let go of a name without a control plane
		}
		u.tally.change(func(c *counts) { c.refused++ })
		if err := sleepUntil(ctx, time.Now().Add(retryPause)); err != nil {
			return err
		}
	}
}

// settle looks whether the claim that is there already is the one that was to be made: the answer may have been lost. Where it is
// not, it returns the given error.
func (u *claimUser) settle(ctx context.Context, exists error) (*extensionsv1beta1.SandboxClaim, error) {
	claim, err := u.read(ctx)
	if apierrors.IsNotFound(err) || err == nil && claim.Annotations[attempt] != fmt.Sprint(u.made) {
		return nil, exists
	}
	return claim, err
}

func (u *claimUser) read(ctx context.Context) (*extensionsv1beta1.SandboxClaim, error) {
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(u.settings.namespace(), u.name)}
	err := u.persist(ctx, func() error { return u.client.Get(ctx, client.ObjectKeyFromObject(claim), claim) })
	return claim, err
}

func (u *claimUser) created(claim *extensionsv1beta1.SandboxClaim) error {
	if before := u.account.Claim; before != nil && !u.account.DueToGo(time.Now()) {
		return u.violation("it is gone, and nobody was to delete it (UID %s)", before.UID)
	}
	if u.last != "" && u.outages.disturbed(time.Now()) {
		u.account.Hide(u.last)
	}
	u.account.Claim, u.last = claim, claim.UID
	return nil
}

// patch sets when the claim expires, and what happens then, and takes the answer down.
func (u *claimUser) patch(ctx context.Context, at time.Time, policy extensionsv1beta1.ShutdownPolicy) error {
	body := fmt.Sprintf(`{"spec":{"lifecycle":{"shutdownTime":%q,"shutdownPolicy":%q}}}`, at.UTC().Format(time.RFC3339), policy)
	claim, sent := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(u.settings.namespace(), u.name)}, 0
	err := u.persist(ctx, func() error {
		for sent++; ; {
			err := u.client.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(body)))
			if !apierrors.IsConflict(err) {
				return err
			}
			u.tally.change(func(c *counts) { c.refused++ })
		}
	})
	switch {
	case apierrors.IsNotFound(err) && sent > 1 && policy != extensionsv1beta1.ShutdownPolicyRetain && !time.Now().Before(at.Truncate(time.Second)):
		// The first answer was lost, and the claim has expired by it.
		u.account.Claim = nil
		return nil
	case apierrors.IsNotFound(err):
		return u.missing()
	case err != nil:
		return fmt.Errorf("patching claim %q with %s: %w", u.name, body, err)
	case claim.DeletionTimestamp != nil:
		// It has expired, and goes in the foreground: what the user wants now comes too late.
		return u.missing()
	case u.account.Claim == nil || u.account.Claim.UID != claim.UID:
		return u.violation("there is one of UID %s, which the user did not make", claim.UID)
	}
	u.account.Claim = claim
	return nil
}

// missing accepts that the claim is gone if it was to go.
func (u *claimUser) missing() error {
	if u.account.Claim != nil && !u.account.DueToGo(time.Now()) {
		return u.violation("it is gone, and nobody was to delete it (UID %s)", u.account.Claim.UID)
	}
	u.account.Claim = nil
	u.miss()
	return nil
}

func (u *claimUser) miss() { u.tally.change(func(c *counts) { c.missed++ }) }

// delete deletes the claim with all it has.
func (u *claimUser) delete(ctx context.Context, cascade metav1.DeletionPropagation) error {
	if u.account.Claim == nil {
		u.miss()
		return nil
	}
	sent, err := u.remove(ctx, u.account.Claim, cascade)
	switch {
	case apierrors.IsNotFound(err) && sent > 1:
		// The first answer was lost.
	case apierrors.IsNotFound(err):
		return u.missing()
	case err != nil:
		return fmt.Errorf("deleting claim %q: %w", u.name, err)
	}
	u.account.Claim = nil
	return nil
}

// deleteSandbox deletes what the claim has published, as a user may who does not think of the claim.
func (u *claimUser) deleteSandbox(ctx context.Context, cascade metav1.DeletionPropagation) error {
	claim, err := u.read(ctx)
	if err != nil || claim.Status.Sandbox.Name == "" {
		u.miss()
		return client.IgnoreNotFound(err)
	}
	sandbox := &sandboxv1beta1.Sandbox{ObjectMeta: fixture.Named(u.settings.namespace(), claim.Status.Sandbox.Name)}
	err = u.persist(ctx, func() error { return u.client.Get(ctx, client.ObjectKeyFromObject(sandbox), sandbox) })
	if err == nil {
		u.diary.note(sandbox.Name, "user: deletes it (%s), UID %s", cascade, sandbox.UID)
		_, err = u.remove(ctx, sandbox, cascade)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		u.miss()
		return nil
	}
	return err
}

func (u *claimUser) violation(format string, args ...any) error {
	return check.Violation{
		Kind: claims.KindClaim, Name: u.name, Claim: u.name, Broken: fmt.Sprintf(format, args...), History: u.diary.about(u.name),
	}
}
