package auth

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// LeastSecret is how many bytes the secret of scoped tokens has at least.
const LeastSecret = 32

// scopedVersion begins every token: v1.<payload>.<signature>.
const scopedVersion = "v1"

// scope is the payload of a token, as JSON in unpadded URL-safe base64. What it holds beside these is refused: it could be a limit.
type scope struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Expires is in seconds since 1970.
	Expires int64 `json:"exp"`
}

// ScopedOptions are those of scoped tokens.
type ScopedOptions struct {
	// Secret signs them; LeastSecret bytes at least.
	Secret []byte
	// Cookie and Query are the names under which a browser sends a token; empty: none.
	Cookie, Query string
	SameSite      http.SameSite
	// Origins are those whose pages may use the cookie beside the router's own, as https://example.com.
	Origins []string
}

// ScopedToken knows callers by tokens that whoever holds the secret has signed: each for one sandbox, and for a time.
type ScopedToken struct {
	options ScopedOptions
	clock   clock.PassiveClock
}

// NewScopedToken returns a ScopedToken.
func NewScopedToken(options ScopedOptions, c clock.PassiveClock) *ScopedToken {
	return &ScopedToken{options, c}
}

// Authenticate checks the token of the header, else that of the query, else that of a cookie. A token that came by the query is put into
// a cookie, where there is one.
func (s *ScopedToken) Authenticate(_ context.Context, request *http.Request, wanted target.Target) (Credential, error) {
	if wanted.PodIP.IsValid() || wanted.UID != "" {
		return Credential{}, forbidden(fmt.Sprintf("A scoped token is for a Sandbox by its name: %s and %s are refused.", target.HeaderPodIP, target.HeaderUID))
	}
	if token := bearer(request.Header); token != "" {
		return s.credential(token)
	}
	if token := s.fromQuery(request); token != "" {
		known, err := s.credential(token)
		if err == nil && s.options.Cookie != "" {
			known.Cookie = s.cookie(request, wanted, token, known)
		}
		return known, err
	}
	return s.fromCookies(request, wanted)
}

func (s *ScopedToken) credential(token string) (Credential, error) {
	granted, err := s.verify(token)
	if err != nil {
		return Credential{}, err
	}
	return Credential{Caller: granted}, nil
}

// fromCookies takes, of several cookies of that name, the one for the sandbox that is wanted: paths of several sandboxes may have one each.
func (s *ScopedToken) fromCookies(request *http.Request, wanted target.Target) (Credential, error) {
	none := unauthenticated("A scoped token is required.")
	if s.options.Cookie == "" {
		return Credential{}, none
	}
	for _, cookie := range request.CookiesNamed(s.options.Cookie) {
		granted, err := s.verify(cookie.Value)
		if err != nil {
			none = err
			continue
		}
		if granted.sandbox() != wanted.Sandbox {
			none = granted.refusal()
			continue
		}
		if err := s.checkOrigin(request); err != nil {
			return Credential{}, err
		}
		return Credential{Caller: granted}, nil
	}
	return Credential{}, none
}

// verify returns what a token grants.
func (s *ScopedToken) verify(token string) (scope, error) {
	bad := unauthenticated("The scoped token is not valid.")
	signed, signature, found := cutLast(token, ".")
	payload, isKnown := strings.CutPrefix(signed, scopedVersion+".")
	if !found || !isKnown {
		return scope{}, bad
	}
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || !hmac.Equal(given, sign(s.options.Secret, signed)) {
		return scope{}, bad
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return scope{}, bad
	}
	var granted scope
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&granted); err != nil || granted.Namespace == "" || granted.Name == "" {
		return scope{}, bad
	}
	if _, err := decoder.Token(); err != io.EOF { //nolint:errorlint // Token returns io.EOF itself.
		return scope{}, bad
	}
	if !s.clock.Now().Before(time.Unix(granted.Expires, 0)) {
		return scope{}, unauthenticated("The scoped token has expired.")
	}
	return granted, nil
}

func sign(secret []byte, signed string) []byte {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(signed)) // a hash.Hash never returns an error
	return mac.Sum(nil)
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// May allows the one sandbox of the token.
func (g scope) May(_ context.Context, sandbox types.NamespacedName) error {
	if sandbox == g.sandbox() {
		return nil
	}
	return g.refusal()
}

func (g scope) sandbox() types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
}

func (scope) refusal() error { return forbidden("The scoped token is for another Sandbox.") }
