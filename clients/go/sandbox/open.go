package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/claims"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// openFor opens it for a caller who asked for it, unless another did already: then it is made sure that it is there, and what was asked
// for. A claim that is gone is not what was asked for, so that another is made.
func (s *Sandbox) openFor(ctx context.Context, wanted *request) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	before, err := s.uid(), error(nil)
	if s.IsReady() {
		_, _, err = s.claim(ctx, wanted)
	} else {
		err = s.open(ctx, wanted)
	}
	if before != "" && errors.Is(err, ErrSandboxDeleted) {
		return s.open(ctx, wanted)
	}
	return err
}

// open claims a sandbox, or finds the one that was claimed, and connects to it. What it made is undone if it fails.
func (s *Sandbox) open(ctx context.Context, wanted *request) (err error) {
	ctx, span := s.start(ctx, "open")
	defer func() { finish(span, err) }()
	if s.isOrphaned() {
		return fmt.Errorf("claim %s: %w", s.key(), ErrOrphanedClaim)
	}
	s.disconnect() // what is left of a connection that broke
	claim, made, err := s.claim(ctx, wanted)
	if err != nil {
		return err
	}
	if err := s.reach(ctx, claim); err != nil {
		if made {
			return errors.Join(err, s.undo(ctx))
		}
		if errors.Is(err, ErrSandboxDeleted) {
			s.lost()
		}
		return err
	}
	return nil
}

// claim returns the claim, and whether it was made now.
func (s *Sandbox) claim(ctx context.Context, wanted *request) (*extensionsv1beta1.SandboxClaim, bool, error) {
	key, uid := s.key(), s.uid()
	if uid == "" && wanted != nil {
		return s.create(ctx, wanted)
	}
	claim, err := s.client.cluster.Claims(key.Namespace).Get(ctx, key.ClaimName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && uid != "" && claim.UID != uid:
		s.lost()
		return nil, false, fmt.Errorf("claim %s: %w", key, ErrSandboxDeleted)
	case err != nil:
		return nil, false, fmt.Errorf("reading claim %s: %w", key, err)
	}
	if wanted != nil && wanted != s.request() {
		if difference := claims.Difference(claim, wanted.claim(ctx, s.client.clock.Now())); difference != "" {
			return nil, false, claims.Conflict(key.Namespace, key.ClaimName, difference)
		}
	}
	s.claimed(key, claim.UID)
	return claim, false, nil
}

// create makes the claim. Its creation is not broken off when ctx ends, since nobody would then know whether the claim is there.
func (s *Sandbox) create(ctx context.Context, wanted *request) (*extensionsv1beta1.SandboxClaim, bool, error) {
	sent := wanted.claim(ctx, s.client.clock.Now())
	sending, stop := s.afterwards(ctx)
	defer stop()
	claim, made, err := s.client.cluster.Create(sending, sent)
	key := Key{Namespace: sent.Namespace, ClaimName: sent.Name}
	if err != nil && wanted.name == "" && !errors.Is(err, ErrClaimFailed) {
		// Whether it is there is not known, but by its random name it could only be ours.
		s.claimed(key, "")
		s.orphan()
		return nil, false, errors.Join(err, s.undo(ctx))
	}
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	s.wanted = wanted
	s.mu.Unlock()
	s.claimed(key, claim.UID)
	return claim, made, nil
}

// reach waits until the claim has its Sandbox, and connects to that.
func (s *Sandbox) reach(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) error {
	ready, err := s.awaitClaim(ctx, claim)
	if err != nil {
		return err
	}
	suspended := claims.OfClaim(ready).State == claims.Suspended
	sb, err := s.client.cluster.Sandboxes(ready.Namespace).Get(ctx, ready.Status.Sandbox.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading Sandbox %s/%s of claim %q: %w", ready.Namespace, ready.Status.Sandbox.Name, ready.Name, err)
	}
	if !metav1.IsControlledBy(sb, ready) {
		return fmt.Errorf("claim %s: Sandbox %q, which it names, is not its own: open it again", s.key(), sb.Name)
	}
	to := boundTo(sb)
	if ips := ready.Status.Sandbox.PodIPs; to.podIP == "" && len(ips) > 0 {
		to.podIP = ips[0]
	}
	s.bind(to)
	if suspended {
		return fmt.Errorf("claim %s: %w", s.key(), errSuspended)
	}
	return s.connectTo(ctx, to)
}

// awaitClaim follows the claim until it is ready, or suspended.
func (s *Sandbox) awaitClaim(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) (*extensionsv1beta1.SandboxClaim, error) {
	var last claims.Standing
	judge := func(seen *extensionsv1beta1.SandboxClaim) (bool, error) {
		standing := claims.OfClaim(seen)
		if standing != last {
			s.client.log.V(1).Info("claim", "claim", s.key().String(), "state", standing.State, "reason", standing.Reason, "message", standing.Message)
		}
		last = standing
		switch standing.State {
		case claims.Ready:
			return true, nil
		case claims.Suspended:
			return seen.Status.Sandbox.Name != "", nil
		case claims.Failed:
			return false, fmt.Errorf("claim %s: %w: %s", s.key(), ErrClaimFailed, standing)
		default:
			return false, nil
		}
	}
	waiting, stop := s.client.patience(ctx, "the sandbox to become ready", s.client.options.SandboxReadyTimeout)
	defer stop()
	seen, err := claims.Await(waiting, s.client.cluster.Claims(claim.Namespace), claim, judge)
	if err != nil && waiting.Err() != nil {
		return nil, fmt.Errorf("claim %s: %w; last seen: %s", s.key(), err, last)
	}
	return seen, err
}

// connectTo opens the link to a Sandbox.
func (s *Sandbox) connectTo(ctx context.Context, to bound) error {
	opened, err := s.client.dial(ctx, s.key().Namespace, to)
	if err != nil {
		return fmt.Errorf("connecting to Sandbox %s/%s: %w", s.key().Namespace, to.name, err)
	}
	s.connect(opened)
	return nil
}

// undo deletes what was made for a caller who does not get it.
func (s *Sandbox) undo(ctx context.Context) error {
	s.disconnect()
	cleaning, stop := s.afterwards(ctx)
	defer stop()
	return s.deleteClaim(cleaning)
}

// deleteClaim deletes the claim, if there is one.
func (s *Sandbox) deleteClaim(ctx context.Context) error {
	key, uid := s.key(), s.uid()
	ctx, stop := context.WithTimeout(ctx, s.client.options.CleanupTimeout)
	defer stop()
	if uid != "" || s.isOrphaned() {
		if err := s.client.cluster.Delete(ctx, key.Namespace, key.ClaimName, uid); err != nil {
			s.orphan()
			return fmt.Errorf("%w: %w", ErrOrphanedClaim, err)
		}
	}
	s.lost()
	return nil
}

// afterwards is a context for what has to be done though the caller's may have ended.
func (s *Sandbox) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.client.options.CleanupTimeout)
}

// patience is a context whose end, after limit, is ErrTimeout; what says what is waited for.
func (c *Client) patience(ctx context.Context, what string, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: waited %s for %s", ErrTimeout, limit, what))
}
