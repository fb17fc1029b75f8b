package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

const (
	// refusedFor is for how long a refusal is remembered at most: rights that were just given count soon.
	refusedFor = 5 * time.Second
	// reviewTimeout bounds a question to the API server.
	reviewTimeout = 10 * time.Second
)

// Reviewer asks the API server questions, which it creates for that.
type Reviewer interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Anonymous says what is done with who has no token.
type Anonymous int

const (
	// RefuseAnonymous : without a token there is no answer but 401.
	RefuseAnonymous Anonymous = iota
	// AllowAnonymous : a request without a token is that of system:anonymous, as for the API server.
	AllowAnonymous
)

// ReviewOptions are those of TokenReview.
type ReviewOptions struct {
	Anonymous Anonymous
	// Audiences are those of which a token must be for one; empty: that of the API server.
	Audiences []string
	// TTL is for how long an answer is believed; above 0.
	TTL time.Duration
	// Size is how many answers of a kind are kept; above 0.
	Size int
}

// TokenReview knows callers by tokens that the API server knows. It lets all of them speak to every sandbox.
type TokenReview struct {
	reviewer Reviewer
	options  ReviewOptions
	// known and refused are apart, so that no flood of bad tokens drives the good ones out.
	known, refused *utilcache.LRUExpireCache
	once           *singleflight.Group
}

// NewTokenReview returns a TokenReview that knows nobody yet.
func NewTokenReview(reviewer Reviewer, options ReviewOptions, c clock.Clock) *TokenReview {
	return &TokenReview{
		reviewer: reviewer, options: options, once: &singleflight.Group{},
		known: utilcache.NewLRUExpireCacheWithClock(options.Size, c), refused: utilcache.NewLRUExpireCacheWithClock(options.Size, c),
	}
}

// Authenticate reviews the token.
func (r *TokenReview) Authenticate(ctx context.Context, request *http.Request, _ target.Target) (Credential, error) {
	if _, err := r.userOf(ctx, request); err != nil {
		return Credential{}, err
	}
	return Credential{Caller: anybody{}}, nil
}

// Strip leaves the request as it is: its header Authorization goes no further anyway.
func (*TokenReview) Strip(*http.Request) {}

// user is who a token is of.
type user struct {
	authenticationv1.UserInfo
	// token is the digest of the token.
	token string
}

func (r *TokenReview) userOf(ctx context.Context, request *http.Request) (user, error) {
	token := bearer(request.Header)
	if token == "" {
		if r.options.Anonymous == AllowAnonymous && request.Header.Get("Authorization") == "" {
			return user{UserInfo: authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}}, nil
		}
		return user{}, unauthenticated("A bearer token is required.")
	}
	digest := digestOf(token)
	if known, ok := r.known.Get(digest); ok {
		info, _ := known.(authenticationv1.UserInfo)
		return user{info, digest}, nil
	}
	if _, ok := r.refused.Get(digest); ok {
		return user{}, badToken()
	}
	info, err := once(ctx, r.once, digest, func(ctx context.Context) (authenticationv1.UserInfo, error) { return r.review(ctx, token, digest) })
	return user{info, digest}, err
}

func badToken() error { return unauthenticated("The bearer token is not valid.") }

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

func (r *TokenReview) review(ctx context.Context, token, digest string) (authenticationv1.UserInfo, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: r.options.Audiences}}
	if err := r.reviewer.Create(ctx, review); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("reviewing a token: %w", err)
	}
	told := review.Status
	// An API server that knows of no audiences tells none, and its word for them cannot be taken.
	rightAudience := len(r.options.Audiences) == 0 || slices.ContainsFunc(told.Audiences, func(a string) bool { return slices.Contains(r.options.Audiences, a) })
	if !told.Authenticated || !rightAudience {
		r.refused.Add(digest, struct{}{}, min(r.options.TTL, refusedFor))
		return authenticationv1.UserInfo{}, badToken()
	}
	r.known.Add(digest, told.User, r.options.TTL)
	return told.User, nil
}

func digestOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// once has one question asked for all who want the same answer at the same time. Who leaves early does not end it for the others.
func once[T any](ctx context.Context, group *singleflight.Group, key string, ask func(context.Context) (T, error)) (T, error) {
	answer := group.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		return ask(ctx)
	})
	var none T
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case got := <-answer:
		told, ok := got.Val.(T)
		if !ok && got.Err == nil {
			return none, errors.New("an answer of another kind")
		}
		return told, got.Err
	}
}

// sandboxKey is a caller and a sandbox, as the key of a question.
func sandboxKey(caller user, sandbox types.NamespacedName) string {
	return caller.token + "/" + sandbox.String()
}
