package auth

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// What a caller must be allowed to do with a Sandbox. It is one right whatever the request: who can speak to a sandbox can have it do
// anything, by whichever method its programs listen to.
const (
	accessVerb        = "create"
	accessResource    = "sandboxes"
	accessSubresource = "proxy"
)

// AccessReview knows callers as TokenReview does, and has the API server say for each sandbox whether they may.
type AccessReview struct {
	tokens           *TokenReview
	allowed, refused *utilcache.LRUExpireCache
	once             *singleflight.Group
}

// NewAccessReview returns an AccessReview that knows no rights yet.
func NewAccessReview(reviewer Reviewer, options ReviewOptions, c clock.Clock) *AccessReview {
	return &AccessReview{
		tokens: NewTokenReview(reviewer, options, c), once: &singleflight.Group{},
		allowed: utilcache.NewLRUExpireCacheWithClock(options.Size, c), refused: utilcache.NewLRUExpireCacheWithClock(options.Size, c),
	}
}

// Authenticate reviews the token.
func (a *AccessReview) Authenticate(ctx context.Context, request *http.Request, _ target.Target) (Credential, error) {
	caller, err := a.tokens.userOf(ctx, request)
	if err != nil {
		return Credential{}, err
	}
	return Credential{Caller: reviewed{a, caller}}, nil
}

// Strip leaves the request as it is: its header Authorization goes no further anyway.
func (*AccessReview) Strip(*http.Request) {}

// reviewed is a caller whose rights the API server knows.
type reviewed struct {
	access *AccessReview
	user   user
}

// May asks the API server, unless it was asked a short while ago.
func (r reviewed) May(ctx context.Context, sandbox types.NamespacedName) error {
	key := sandboxKey(r.user, sandbox)
	if _, ok := r.access.allowed.Get(key); ok {
		return nil
	}
	if _, ok := r.access.refused.Get(key); ok {
		return mayNot(sandbox)
	}
	allowed, err := once(ctx, r.access.once, key, func(ctx context.Context) (bool, error) { return r.ask(ctx, sandbox, key) })
	if err == nil && !allowed {
		err = mayNot(sandbox)
	}
	return err
}

func mayNot(sandbox types.NamespacedName) error {
	return forbidden(fmt.Sprintf("You may not %s %s/%s of Sandbox %s in namespace %s.",
		accessVerb, accessResource, accessSubresource, sandbox.Name, sandbox.Namespace))
}

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

func (r reviewed) ask(ctx context.Context, sandbox types.NamespacedName, key string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range r.user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.user.Username, Groups: r.user.Groups, UID: r.user.UID, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: sandbox.Namespace, Name: sandbox.Name, Verb: accessVerb, Group: sandboxv1beta1.GroupName, Version: sandboxv1beta1.GroupVersion.Version,
			Resource: accessResource, Subresource: accessSubresource,
		},
	}}
	if err := r.access.tokens.reviewer.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing the access of %q to Sandbox %s: %w", r.user.Username, sandbox, err)
	}
	options := r.access.tokens.options
	if !review.Status.Allowed {
		r.access.refused.Add(key, struct{}{}, min(options.TTL, refusedFor))
		return false, nil
	}
	r.access.allowed.Add(key, struct{}{}, options.TTL)
	return true, nil
}
