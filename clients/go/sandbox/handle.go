package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// errSuspended says that a sandbox is there, but suspended.
var errSuspended = fmt.Errorf("%w: it is suspended", ErrNotReady)

// Sandbox is a claimed sandbox. It is safe for concurrent use; Open, Close, Disconnect, Suspend and Resume take turns.
type Sandbox struct {
	client *Client
	// turn is taken by what opens or closes.
	turn chan struct{}

	mu sync.Mutex
	// named is the claim; its name is empty before there is one that the caller did not name.
	named Key
	// wanted is what the claim is made from; nil where it is another's.
	wanted *request
	// claimUID is empty while there is no claim that is known of.
	claimUID types.UID
	// bound is the Sandbox of the claim; its name is empty while that is not known.
	bound bound
	// link is nil unless it is open.
	link *link
	// orphaned is set while a claim is to be deleted and could not be.
	orphaned bool
}

// bound is what is known of the Sandbox of a claim.
type bound struct {
	name           string
	uid            types.UID
	podName, podIP string
	annotations    map[string]string
}

func boundTo(sb *sandboxv1beta1.Sandbox) bound {
	b := bound{name: sb.Name, uid: sb.UID, podName: sb.Name, annotations: sb.Annotations}
	if name := sb.Annotations[sandboxv1beta1.AnnotationPodName]; name != "" {
		b.podName = name
	}
	if len(sb.Status.PodIPs) > 0 {
		b.podIP = sb.Status.PodIPs[0]
	}
	return b
}

func newSandbox(client *Client, key Key, wanted *request) *Sandbox {
	return &Sandbox{client: client, turn: make(chan struct{}, 1), named: key, wanted: wanted}
}

// Open connects to the sandbox. What CreateSandbox and GetSandbox return is open already; it is for one that was disconnected, lost its
// connection, or was closed: then it claims another sandbox, if this Client made the claim. The errors are ErrAlreadyOpen, ErrOrphanedClaim,
// ErrSandboxDeleted if the claim is gone (the next Open claims another), and those of CreateSandbox.
func (s *Sandbox) Open(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.isOpen() {
		return ErrAlreadyOpen
	}
	err := s.open(ctx, s.request())
	if err == nil {
		s.client.tracked.keep(s)
	}
	return err
}

// Close deletes the claim, and the sandbox with it. If that fails, the error is ErrOrphanedClaim, and Close can be called again.
func (s *Sandbox) Close(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	s.disconnect()
	return s.deleteClaim(ctx)
}

// Disconnect gives up the connection and keeps the claim; Open connects again.
func (s *Sandbox) Disconnect(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	s.disconnect()
	return nil
}

// IsReady reports whether it is open and, as far as is known, connected.
func (s *Sandbox) IsReady() bool { return s.isOpen() }

// ClaimName is the name of the claim; empty if there is none.
func (s *Sandbox) ClaimName() string { return s.key().ClaimName }

// SandboxName is the name of the Sandbox that the claim published, which is another than the claim's where it came from a pool.
func (s *Sandbox) SandboxName() string { return s.known().name }

// PodName is the name of the Sandbox's Pod.
func (s *Sandbox) PodName() string { return s.known().podName }

// PodIP is the address of the Sandbox's Pod when it was opened or resumed.
func (s *Sandbox) PodIP() string { return s.known().podIP }

// Annotations are those of the Sandbox when it was opened or resumed.
func (s *Sandbox) Annotations() map[string]string { return maps.Clone(s.known().annotations) }

// take waits for the turn of what opens or closes.
func (s *Sandbox) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sandbox) give() { <-s.turn }

func (s *Sandbox) key() Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named
}

func (s *Sandbox) request() *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted
}

func (s *Sandbox) known() bound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound
}

func (s *Sandbox) uid() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimUID
}

func (s *Sandbox) isOpen() bool {
	_, err := s.connected()
	return err == nil
}

// inUse reports whether there is something about it to keep.
func (s *Sandbox) inUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link != nil || s.orphaned
}

// connected returns the link, or ErrNotReady, beside ErrPortForwardDied if it broke.
func (s *Sandbox) connected() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.link == nil:
		return nil, ErrNotReady
	case s.link.died() != nil:
		return nil, errors.Join(ErrNotReady, s.link.died())
	default:
		return s.link, nil
	}
}

func (s *Sandbox) connect(to *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = to
}

func (s *Sandbox) disconnect() {
	s.mu.Lock()
	old := s.link
	s.link = nil
	s.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// claimed notes which claim it is.
func (s *Sandbox) claimed(key Key, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named, s.claimUID, s.orphaned = key, uid, false
}

// bind notes which Sandbox the claim has.
func (s *Sandbox) bind(to bound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = to
}

// forget notes that the claim is gone. The name that its caller gave stays.
func (s *Sandbox) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted != nil {
		s.named.ClaimName = s.wanted.name
	}
	s.claimUID, s.bound, s.orphaned = "", bound{}, false
}

func (s *Sandbox) orphan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphaned = true
}

func (s *Sandbox) isOrphaned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orphaned
}
