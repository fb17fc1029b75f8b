package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
)

const (
	// runAttempts : a command may have run though its answer was lost.
	runAttempts = 1
	// fileAttempts : the same file can be written or read again.
	fileAttempts = 6
)

// CallOption changes one call.
type CallOption func(*call)

// WithTimeout bounds the call, all attempts together, instead of RequestTimeout. It also gives a limit to a call that has none.
func WithTimeout(limit time.Duration) CallOption { return func(c *call) { c.timeout = limit } }

// WithMaxAttempts sets how often the call may be attempted. For Run more than 1 means that the command may run more than once.
func WithMaxAttempts(attempts int) CallOption { return func(c *call) { c.attempts = attempts } }

// call is how one is made.
type call struct {
	timeout  time.Duration
	attempts int
}

// callOf applies the options; timeout 0 means that there is no limit beside that of the context.
func callOf(timeout time.Duration, attempts int, options []CallOption) (call, error) {
	c := call{timeout: timeout, attempts: attempts}
	for _, option := range options {
		option(&c)
	}
	if c.timeout < 0 || c.timeout == 0 && timeout != 0 {
		return c, fmt.Errorf("WithTimeout %s: use a positive duration", c.timeout)
	}
	if c.attempts < 1 {
		return c, fmt.Errorf("WithMaxAttempts %d: use 1 or more", c.attempts)
	}
	return c, nil
}

// limited is the context of the call. Its end by the limit is ErrTimeout.
func (c call) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("%w: no answer within %s; WithTimeout allows more", ErrTimeout, c.timeout))
}

func (s *Sandbox) attempts(c call) transport.Attempts {
	return transport.Attempts{Max: c.attempts, Timeout: s.client.options.PerAttemptTimeout}
}

// failed says more about why a call failed: that the link broke meanwhile, or that time was up.
func failed(ctx context.Context, over *link, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)):
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case over.died() != nil:
		return fmt.Errorf("%w: %w: %w", ErrNotReady, over.died(), err)
	case status.Code(unwrapped(err)) == codes.DeadlineExceeded && !errors.Is(err, ErrTimeout):
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	default:
		return err
	}
}

// failed says, beside what the function does, whether the claim is gone: a router can tell no sandbox that was deleted from one that is away.
func (s *Sandbox) failed(ctx context.Context, over *link, err error) error {
	err = failed(ctx, over, err)
	if !unreachable(err) || s.take(ctx) != nil {
		return err
	}
	defer s.give()
	// Another call may have found it out, or the sandbox been opened anew.
	key, uid := s.key(), s.uid()
	if now, connectErr := s.connected(); connectErr != nil || now != over {
		return err
	}
	claim, readErr := s.client.cluster.Claims(key.Namespace).Get(ctx, key.ClaimName, metav1.GetOptions{})
	if !apierrors.IsNotFound(readErr) && (readErr != nil || claim.UID == uid) {
		return err
	}
	s.disconnect()
	s.lost()
	return fmt.Errorf("claim %s: %w: %w", key, ErrSandboxDeleted, err)
}

// unreachable reports whether a call failed because nothing answered behind a router.
func unreachable(err error) bool {
	if answered, ok := errors.AsType[*HTTPError](err); ok {
		return answered.StatusCode == http.StatusBadGateway
	}
	return status.Code(unwrapped(err)) == codes.Unavailable
}

// unwrapped finds the error of gRPC within another.
func unwrapped(err error) error {
	var answered interface{ GRPCStatus() *status.Status }
	if errors.As(err, &answered) {
		return answered.GRPCStatus().Err()
	}
	return nil
}
