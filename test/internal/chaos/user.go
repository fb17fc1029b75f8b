package chaos

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

const (
	// namePatience is how long a name may stay taken by a Sandbox that was deleted.
	namePatience = 3 * time.Minute
	// namePause lies between two tries of a name that is taken.
	namePause = 50 * time.Millisecond
	// settledAge is how old a PersistentVolumeClaim is of which the garbage collector is sure to know: it orphans those it
	// knows, and deletes what it learns of later.
	settledAge = 10 * time.Second
	// farFuture is a shutdownTime that no run lives to see.
	farFuture = 24 * time.Hour
)

// user does what the schedule says to Sandboxes whose names are its own.
type user struct {
	client    client.Client
	namespace string
	accounts  map[string]*check.Account
	tally     *tally
	diary     *diary
}

// run does everything in its time, or as soon as possible after. The error is a check.Violation when a Sandbox is not what
// the user has made it.
func (u *user) run(ctx context.Context, actions []schedule.Action, began time.Time) error {
	for _, action := range actions {
		if err := sleepUntil(ctx, began.Add(action.At)); err != nil {
			return err
		}
		u.diary.note(action.Name, "user: %s", action)
		if err := u.act(ctx, action); err != nil {
			return err
		}
		u.tally.change(func(c *counts) { c.actions[action.Kind]++ })
	}
	return nil
}

// sleepUntil returns at that time, or with the cause when ctx ends.
func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func (u *user) act(ctx context.Context, action schedule.Action) error {
	account := u.accounts[action.Name]
	switch action.Kind {
	case schedule.Create:
		return u.create(ctx, account, action)
	case schedule.Suspend:
		account.PodEnds++
		return u.patch(ctx, account, action.Name, `{"spec":{"operatingMode":"Suspended"}}`)
	case schedule.Resume:
		return u.patch(ctx, account, action.Name, `{"spec":{"operatingMode":"Running"}}`)
	case schedule.Expire:
		account.PodEnds++
		return u.patch(ctx, account, action.Name, shutdownPatch(time.Now().Add(action.Shutdown), action.Policy))
	case schedule.Revive:
		return u.patch(ctx, account, action.Name, shutdownPatch(time.Now().Add(farFuture), sandboxv1beta1.ShutdownPolicyRetain))
	case schedule.Delete:
		return u.delete(ctx, account, action.Name, action.Cascade)
	case schedule.Recreate:
		if err := u.delete(ctx, account, action.Name, action.Cascade); err != nil {
			return err
		}
		return u.create(ctx, account, action)
	case schedule.DeletePod:
		return u.deletePod(ctx, action.Name)
	case schedule.Orphan:
		return u.orphan(ctx, account, action.Name)
	case schedule.Adopt:
		if err := u.orphan(ctx, account, action.Name); err != nil {
			return err
		}
		return u.create(ctx, account, action)
	default:
		return fmt.Errorf("nobody knows how to %s", action.Kind)
	}
}

func shutdownPatch(at time.Time, policy sandboxv1beta1.ShutdownPolicy) string {
	return fmt.Sprintf(`{"spec":{"shutdownTime":%q,"shutdownPolicy":%q}}`, at.UTC().Format(time.RFC3339), policy)
}

// create makes a Sandbox. When its name is taken by one that was deleted, it waits for that to go; when it is taken by one
// that may expire at any time, it leaves it alone.
func (u *user) create(ctx context.Context, account *check.Account, action schedule.Action) error {
	deadline := time.Now().Add(namePatience)
	for {
		sandbox := desiredSandbox(u.namespace, action.Name, action.Shape, time.Now())
		err := u.client.Create(ctx, sandbox)
		switch {
		case err == nil:
			return u.created(account, sandbox)
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("creating Sandbox %q: %w", action.Name, err)
		case account.Sandbox != nil:
			u.miss()
			return nil
		case time.Now().After(deadline):
			return u.violation(action.Name, "it was deleted and its name is still taken after %s", namePatience)
		}
		u.tally.change(func(c *counts) { c.refused++ })
		if err := sleepUntil(ctx, time.Now().Add(namePause)); err != nil {
			return err
		}
	}
}

func (u *user) created(account *check.Account, sandbox *sandboxv1beta1.Sandbox) error {
	if before := account.Sandbox; before != nil && !account.DueToGo(time.Now()) {
		return u.violation(sandbox.Name, "it is gone, and nobody was to delete it (UID %s)", before.UID)
	}
	account.Created(sandbox)
	if sandbox.Spec.ShutdownTime != nil || sandbox.Spec.OperatingMode == sandboxv1beta1.OperatingModeSuspended {
		// What is suspended from the first may take over the Pod that another has left behind, and stops it.
		account.PodEnds++
	}
	return nil
}

// patch changes the Sandbox that the user means, and takes the answer down.
func (u *user) patch(ctx context.Context, account *check.Account, name, body string) error {
	for {
		sandbox := &sandboxv1beta1.Sandbox{ObjectMeta: fixture.Named(u.namespace, name)}
		err := u.client.Patch(ctx, sandbox, client.RawPatch(types.MergePatchType, []byte(body)))
		switch {
		case apierrors.IsNotFound(err):
			return u.missing(account, name)
		case apierrors.IsConflict(err):
			u.tally.change(func(c *counts) { c.refused++ })
			continue
		case err != nil:
			return fmt.Errorf("patching Sandbox %q with %s: %w", name, body, err)
		case account.Sandbox == nil || account.Sandbox.UID != sandbox.UID:
			return u.violation(name, "there is one of UID %s, which the user did not make", sandbox.UID)
		}
		account.Sandbox = sandbox
		return nil
	}
}

// missing accepts that a Sandbox is gone if it was to go.
func (u *user) missing(account *check.Account, name string) error {
	if account.Sandbox != nil && !account.DueToGo(time.Now()) {
		return u.violation(name, "it is gone, and nobody was to delete it (UID %s)", account.Sandbox.UID)
	}
	account.Deleted()
	u.miss()
	return nil
}

func (u *user) miss() { u.tally.change(func(c *counts) { c.missed++ }) }

func (u *user) violation(name, format string, args ...any) error {
	return check.Violation{
		Kind: check.KindSandbox, Name: name, Sandbox: name,
		Broken: fmt.Sprintf(format, args...), History: u.diary.about(name),
	}
}

// delete deletes the Sandbox that the user means, with all it has.
func (u *user) delete(ctx context.Context, account *check.Account, name string, cascade metav1.DeletionPropagation) error {
	err := u.remove(ctx, account, name, cascade)
	switch {
	case apierrors.IsNotFound(err):
		return u.missing(account, name)
	case err != nil:
		return fmt.Errorf("deleting Sandbox %q: %w", name, err)
	}
	account.Deleted()
	if cascade == metav1.DeletePropagationForeground {
		account.PodEnds++ // the controller takes part in it
	}
	return nil
}

// orphan deletes the Sandbox and leaves what it has behind.
func (u *user) orphan(ctx context.Context, account *check.Account, name string) error {
	disk, err := u.disk(ctx, account, name)
	if err != nil {
		return err
	}
	err = u.remove(ctx, account, name, metav1.DeletePropagationOrphan)
	switch {
	case apierrors.IsNotFound(err):
		return u.missing(account, name)
	case err != nil:
		return fmt.Errorf("deleting Sandbox %q without its children: %w", name, err)
	}
	account.LeftBehind(disk)
	return nil
}

func (u *user) remove(ctx context.Context, account *check.Account, name string, cascade metav1.DeletionPropagation) error {
	options := []client.DeleteOption{client.PropagationPolicy(cascade)}
	if account.Sandbox != nil {
		options = append(options, client.Preconditions{UID: &account.Sandbox.UID})
	}
	return u.client.Delete(ctx, &sandboxv1beta1.Sandbox{ObjectMeta: fixture.Named(u.namespace, name)}, options...)
}

// disk is the UID of the PersistentVolumeClaim that the Sandbox has for sure, empty if there is none.
func (u *user) disk(ctx context.Context, account *check.Account, name string) (types.UID, error) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: fixture.Named(u.namespace, check.ClaimName(name))}
	err := u.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading PersistentVolumeClaim %q: %w", claim.Name, err)
	}
	isOurs := account.Sandbox != nil && metav1.IsControlledBy(claim, account.Sandbox)
	if err != nil || !isOurs || claim.DeletionTimestamp != nil || time.Since(claim.CreationTimestamp.Time) < settledAge {
		return "", nil
	}
	return claim.UID, nil
}

func (u *user) deletePod(ctx context.Context, name string) error {
	err := u.client.Delete(ctx, &corev1.Pod{ObjectMeta: fixture.Named(u.namespace, name)})
	if apierrors.IsNotFound(err) {
		u.miss()
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting Pod %q: %w", name, err)
	}
	return nil
}
