package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// extension is what the flags of extend say.
type extension struct {
	lifetime     time.Duration
	until        string
	never, force bool
}

func (t *tool) extend() *cobra.Command {
	var wanted extension
	cmd := &cobra.Command{
		Use:     "extend NAME (--for=DURATION | --until=TIME | --never)",
		Short:   "Set when a Sandbox or a claim expires",
		GroupID: groupLife,
		Long: `Set when a Sandbox or a claim expires. One that has expired and was kept comes back, a Sandbox with its disks.

The time of a Sandbox that a claim has is the claim's: name the claim.`,
		Example: `  kubectl sandbox extend my-sandbox --for=8h
  kubectl sandbox extend claim/my-session --until=2030-01-01T00:00:00Z
  kubectl sandbox extend my-sandbox --for=5m --force   # sooner than it was to be`,
		Args:              names(1, 1),
		ValidArgsFunction: t.complete(target.Any),
	}
	out := newOutput("extended")
	out.add(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&wanted.lifetime, "for", 0, "It expires so long from now; above 0.")
	flags.StringVar(&wanted.until, "until", "", "It expires at this time (RFC 3339).")
	flags.BoolVar(&wanted.never, "never", false, "It does not expire.")
	flags.BoolVar(&wanted.force, "force", false, "Let it expire sooner than it was to.")
	cmd.MarkFlagsMutuallyExclusive("for", "until", "never")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		now := t.Clock.Now()
		at, err := wanted.time(now)
		if err != nil {
			return UsageError{err}
		}
		ref, err := parse(args[0])
		if err != nil {
			return err
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		object, err := owned(cmd.Context(), c, ref, "extend")
		if err != nil {
			return err
		}
		if err := wanted.apply(cmd.Context(), c, object, at, now); err != nil {
			return err
		}
		return t.print(out, object, "%s")
	}
	return cmd
}

// time is when it is to expire; nil is never.
func (e extension) time(now time.Time) (*metav1.Time, error) {
	switch {
	case e.never:
		// No time is what never has.
		return nil, nil
	case e.until != "":
		at, err := time.Parse(time.RFC3339, e.until)
		if err != nil {
			return nil, fmt.Errorf("--until=%q: must be a time as 2030-01-01T00:00:00Z", e.until)
		}
		return &metav1.Time{Time: at.UTC()}, nil
	case e.lifetime > 0:
		return &metav1.Time{Time: now.Add(e.lifetime).UTC().Truncate(time.Second)}, nil
	case e.lifetime < 0:
		return nil, fmt.Errorf("--for=%s: must be above 0", e.lifetime)
	}
	return nil, errors.New("say until when: --for=8h, --until=2030-01-01T00:00:00Z or --never")
}

// check refuses what is no extension. set is when it was to expire so far; nil is never.
func (e extension) check(set, at *metav1.Time, now time.Time) error {
	if e.force || at == nil {
		return nil
	}
	switch {
	case !at.After(now):
		return fmt.Errorf("%s has passed: it would expire at once; --force does that", at.Format(time.RFC3339))
	case set == nil:
		return errors.New("it does not expire so far: --force lets it expire")
	case at.Before(set):
		return fmt.Errorf("it is to expire at %s, which is later than %s: --force lets it expire sooner",
			set.UTC().Format(time.RFC3339), at.Format(time.RFC3339))
	}
	return nil
}

func (e extension) apply(ctx context.Context, c *cluster.Cluster, object client.Object, at *metav1.Time, now time.Time) error {
	set, change, err := expiryOf(object, at)
	if err != nil {
		return err
	}
	if err := e.check(set, at, now); err != nil {
		return fmt.Errorf("extending %s: %w", target.Of(object), err)
	}
	// What was decided depends on what was read.
	change["metadata"] = map[string]any{"resourceVersion": object.GetResourceVersion()}
	return patch(ctx, c, object, change)
}

// expiryOf is when the object is to expire, and the change that sets another time.
func expiryOf(object client.Object, at *metav1.Time) (*metav1.Time, map[string]any, error) {
	change := map[string]any{"shutdownTime": at}
	switch of := object.(type) {
	case *sandboxv1beta1.Sandbox:
		return of.Spec.ShutdownTime, map[string]any{"spec": change}, nil
	case *extensionsv1beta1.SandboxClaim:
		var set *metav1.Time
		if of.Spec.Lifecycle != nil {
			set = of.Spec.Lifecycle.ShutdownTime
		}
		return set, map[string]any{"spec": map[string]any{"lifecycle": change}}, nil
	}
	return nil, nil, UsageError{fmt.Errorf("%s does not expire: name a Sandbox or a claim", target.Of(object))}
}

// owned reads what a name means, for a verb that would be undone, or mean something else, on a Sandbox that a claim has. Whoever writes
// sandbox/NAME means it.
func owned(ctx context.Context, c *cluster.Cluster, ref target.Ref, verb string) (client.Object, error) {
	object, err := c.Finder().Find(ctx, ref)
	if err != nil || ref.Kind != target.Any {
		return object, err
	}
	controller := metav1.GetControllerOf(object)
	if controller == nil {
		return object, nil
	}
	owner := controller.Kind + "/" + controller.Name
	if kind, known := target.KindOf(controller.Kind); known {
		owner = target.Ref{Kind: kind, Name: controller.Name}.String()
	}
	return nil, fmt.Errorf("sandbox/%s belongs to %s: `kubectl sandbox %s %s -n %s`, or name it sandbox/%s if you mean it alone",
		object.GetName(), owner, verb, owner, object.GetNamespace(), object.GetName())
}
