package sandbox

import (
	"errors"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/claims"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/gateway"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel"
)

// The errors of this package, for errors.Is. Each comes wrapped with what was attempted.
var (
	// ErrNotReady says that the sandbox is not open, is suspended, or lost its connection: Open or Resume it.
	ErrNotReady = errors.New("the sandbox is not open: call Open, or Resume if it is suspended")
	// ErrAlreadyOpen says that Open was called while it was open: Close or Disconnect it first.
	ErrAlreadyOpen = errors.New("the sandbox is open already: call Close or Disconnect first")
	// ErrOrphanedClaim says that a claim is left behind which could not be deleted: call Close, or DeleteAll of the client, again.
	ErrOrphanedClaim = errors.New("a claim is left behind: call Close again to delete it")
	// ErrTimeout says that a time limit of the Options or of WithTimeout came first. The message has what was seen last.
	ErrTimeout = errors.New("it took too long")
	// ErrClaimFailed says that the claim is refused, or does not get its Sandbox; the message has the condition's reason and message. The
	// same claim does not get better by itself.
	ErrClaimFailed = claims.ErrFailed
	// ErrClaimConflict says that a claim of the name that was asked for exists and asks for something else, or is being deleted. Use
	// another name, or delete that claim first.
	ErrClaimConflict = claims.ErrConflict
	// ErrPortForwardDied says that the connection through the API server broke: Open the sandbox again.
	ErrPortForwardDied = tunnel.ErrDied
	// ErrRetriesExhausted says that each attempt failed; the last failure is wrapped beside it.
	ErrRetriesExhausted = transport.ErrRetriesExhausted
	// ErrSandboxDeleted says that the claim or its Sandbox was deleted: Open gets another where the client made the claim.
	ErrSandboxDeleted = claims.ErrDeleted
	// ErrGatewayDeleted says that the Gateway was deleted while its address was awaited.
	ErrGatewayDeleted = gateway.ErrDeleted
	// ErrResponseTooLarge says that an answer is over its limit: read a file by Files().Open, stream a command's output by
	// Commands().Start.
	ErrResponseTooLarge = guest.ErrTooLarge
	// ErrUnsupportedByRuntime says that the runtime in the sandbox cannot do it, but the runtime sandboxd can.
	ErrUnsupportedByRuntime = guest.ErrUnsupported
)

// HTTPError is an answer that is no success, for errors.As. A redirect is one: none is followed.
type HTTPError = transport.HTTPError
