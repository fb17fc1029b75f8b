package auth

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// Denied is a request that is refused. Every other error means that nobody could say.
type Denied struct {
	// Status is 401 for who cannot tell who they are, 403 for who may not.
	Status int
	// Detail is what the client is told.
	Detail string
}

// Error is the detail.
func (d *Denied) Error() string { return d.Detail }

func unauthenticated(detail string) error { return &Denied{http.StatusUnauthorized, detail} }

func forbidden(detail string) error { return &Denied{http.StatusForbidden, detail} }

// Caller is who sent a request.
type Caller interface {
	// May returns nil where the caller may speak to that sandbox; a *Denied where not.
	May(ctx context.Context, sandbox types.NamespacedName) error
}

// Credential is how a caller is known.
type Credential struct {
	Caller Caller
	// Cookie is to be set by the response, so that what a page loads is known too; nil for none.
	Cookie *http.Cookie
}

// AllowAll is for networks where whoever reaches the router may reach every sandbox.
type AllowAll struct{}

// Authenticate takes everybody.
func (AllowAll) Authenticate(context.Context, *http.Request, target.Target) (Credential, error) {
	return Credential{Caller: anybody{}}, nil
}

// Strip leaves the request as it is.
func (AllowAll) Strip(*http.Request) {}

// anybody may speak to every sandbox.
type anybody struct{}

// May allows.
func (anybody) May(context.Context, types.NamespacedName) error { return nil }

// bearer returns the token of the header Authorization; empty without one.
func bearer(header http.Header) string {
	scheme, token, found := strings.Cut(header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
