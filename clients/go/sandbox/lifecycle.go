package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/claims"
)

// Suspend stops the sandbox and keeps its disks, and returns once its Pod is gone. The connection is given up; Resume makes a new one.
// The errors are ErrNotReady if it was never open, ErrTimeout after SandboxReadyTimeout, and ErrSandboxDeleted.
func (s *Sandbox) Suspend(ctx context.Context) (err error) {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	ctx, span := s.start(ctx, "suspend")
	defer func() { finish(span, err) }()
	s.disconnect()
	asked, err := s.setMode(ctx, sandboxv1beta1.OperatingModeSuspended)
	if err != nil {
		return err
	}
	_, err = s.awaitSandbox(ctx, "the sandbox to be suspended", asked, func(seen *sandboxv1beta1.Sandbox) (bool, error) {
		return claims.IsSuspended(seen), nil
	})
	return err
}

// Resume starts a suspended sandbox again, with its disks, and opens it. The errors are those of Suspend, ErrClaimFailed, and those of the
// way to the sandbox.
func (s *Sandbox) Resume(ctx context.Context) (err error) {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	ctx, span := s.start(ctx, "resume")
	defer func() { finish(span, err) }()
	s.disconnect()
	asked, err := s.setMode(ctx, sandboxv1beta1.OperatingModeRunning)
	if err != nil {
		return err
	}
	ready, err := s.awaitSandbox(ctx, "the sandbox to be resumed", asked, func(seen *sandboxv1beta1.Sandbox) (bool, error) {
		standing := claims.OfSandbox(seen)
		if standing.State == claims.Failed {
			return false, fmt.Errorf("sandbox %s/%s: %w: %s", seen.Namespace, seen.Name, ErrClaimFailed, standing)
		}
		return standing.State == claims.Ready, nil
	})
	if err != nil {
		return err
	}
	to := boundTo(ready)
	s.bind(to)
	if err := s.connectTo(ctx, to); err != nil {
		return err
	}
	s.client.tracked.keep(s)
	return nil
}

// Renew has the claim, and its sandbox, expire a lifetime from now, by the clock of this machine: earlier or later than before, and also
// where it had no end. What happens then is what the claim's spec.lifecycle.shutdownPolicy says.
func (s *Sandbox) Renew(ctx context.Context, lifetime time.Duration) (err error) {
	if lifetime <= 0 {
		return fmt.Errorf("lifetime %s: use a positive duration", lifetime)
	}
	ctx, span := s.start(ctx, "renew")
	defer func() { finish(span, err) }()
	key, uid := s.key(), s.uid()
	if uid == "" {
		return ErrNotReady
	}
	until := s.client.clock.Now().Add(lifetime).UTC().Format(time.RFC3339)
	patch, err := patchOf(uid, map[string]any{"lifecycle": map[string]any{"shutdownTime": until}})
	if err != nil {
		return err
	}
	_, err = s.client.cluster.Claims(key.Namespace).Patch(ctx, key.ClaimName, types.MergePatchType, patch, metav1.PatchOptions{})
	return s.replaced("renewing claim "+key.String(), err)
}

// setMode has the Sandbox run or be suspended. It touches no other of its name.
func (s *Sandbox) setMode(ctx context.Context, mode sandboxv1beta1.OperatingMode) (*sandboxv1beta1.Sandbox, error) {
	key, to := s.key(), s.known()
	if to.uid == "" {
		return nil, ErrNotReady
	}
	patch, err := patchOf(to.uid, map[string]any{"operatingMode": mode})
	if err != nil {
		return nil, err
	}
	patched, err := s.client.cluster.Sandboxes(key.Namespace).Patch(ctx, to.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return patched, s.replaced(fmt.Sprintf("setting Sandbox %s/%s to %s", key.Namespace, to.name, mode), err)
}

// patchOf changes the spec of the object of that UID, and of no other.
func patchOf(uid types.UID, spec map[string]any) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("preparing a patch: %w", err)
	}
	return patch, nil
}

// replaced tells that an object is gone, or another of its name is there: the API server refuses a patch with another UID.
func (s *Sandbox) replaced(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return fmt.Errorf("%s: %w: %w", what, ErrSandboxDeleted, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

func (s *Sandbox) awaitSandbox(ctx context.Context, what string, from *sandboxv1beta1.Sandbox, judge claims.Judge[*sandboxv1beta1.Sandbox]) (*sandboxv1beta1.Sandbox, error) {
	waiting, stop := s.client.patience(ctx, what, s.client.options.SandboxReadyTimeout)
	defer stop()
	seen, err := claims.Await(waiting, s.client.cluster.Sandboxes(from.Namespace), from, judge)
	if errors.Is(err, ErrTimeout) {
		return nil, fmt.Errorf("sandbox %s/%s: %w; last seen: %s", from.Namespace, from.Name, err, claims.OfSandbox(seen))
	}
	return seen, err
}
