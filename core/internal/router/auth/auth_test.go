package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer answers reviews: of the tokens it knows, and of what these may.
type apiServer struct {
	mu     sync.Mutex
	tokens map[string]string // users by token
	may    map[string]bool   // by user and sandbox
	broken error
	asked  []string
	// audiences are those that it tells.
	audiences []string
}

func (s *apiServer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	switch review := obj.(type) {
	case *authenticationv1.TokenReview:
		s.asked = append(s.asked, "token "+review.Spec.Token)
		name, known := s.tokens[review.Spec.Token]
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: authenticationv1.UserInfo{
			Username: name, Groups: []string{"group"}, UID: "uid", Extra: map[string]authenticationv1.ExtraValue{"scope": {"x"}},
		}, Audiences: s.audiences}
	case *authorizationv1.SubjectAccessReview:
		want := review.Spec.ResourceAttributes
		key := review.Spec.User + " " + want.Verb + " " + want.Group + "/" + want.Resource + "/" + want.Subresource + " " + want.Namespace + "/" + want.Name
		s.asked = append(s.asked, key+" "+strings.Join(review.Spec.Groups, ",")+" "+review.Spec.UID+" "+strings.Join(review.Spec.Extra["scope"], ","))
		review.Status.Allowed = s.may[key]
	}
	return nil
}

func box() types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: "box"}
}

func other() types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: "other"}
}

func request(edits ...func(*http.Request)) *http.Request {
	made := httptest.NewRequest(http.MethodGet, "http://router.example/a?b=c", http.NoBody)
	for _, apply := range edits {
		apply(made)
	}
	return made
}

func with(header, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(header, value) }
}

func withQuery(query string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = query }
}

// authenticator is any of the modes.
type authenticator interface {
	Authenticate(ctx context.Context, request *http.Request, wanted target.Target) (Credential, error)
	Strip(out *http.Request)
}

// statusOf says what becomes of a request to a sandbox: 200, or that of the refusal; 500 where nobody could tell.
func statusOf(t *testing.T, mode authenticator, r *http.Request, sandbox types.NamespacedName) int {
	t.Helper()
	known, err := mode.Authenticate(t.Context(), r, target.Target{Sandbox: sandbox})
	if err == nil {
		err = known.Caller.May(t.Context(), sandbox)
	}
	if denied, ok := errors.AsType[*Denied](err); ok {
		return denied.Status
	}
	if err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func TestEverybodyMayWhereAllAreAllowed(t *testing.T) {
	if status := statusOf(t, AllowAll{}, request(), box()); status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
}

func TestTokensAreReviewed(t *testing.T) {
	for name, test := range map[string]struct {
		options   ReviewOptions
		server    *apiServer
		header    string
		want      int
		questions int
	}{
		"a token that is known":                 {header: "Bearer good", want: 200, questions: 1},
		"the scheme in small letters":           {header: "bearer good", want: 200, questions: 1},
		"a token that is not":                   {header: "Bearer bad", want: 401, questions: 1},
		"no token":                              {want: 401},
		"no token, which is allowed":            {options: ReviewOptions{Anonymous: AllowAnonymous}, want: 200},
		"another scheme, though none is needed": {options: ReviewOptions{Anonymous: AllowAnonymous}, header: "Basic YTpi", want: 401},
		"an empty token":                        {header: "Bearer ", want: 401},
		"an API server that does not answer":    {server: &apiServer{broken: errors.New("down")}, header: "Bearer good", want: 500},
		"the right audience":                    {options: ReviewOptions{Audiences: []string{"router"}}, server: &apiServer{audiences: []string{"router"}}, header: "Bearer good", want: 200, questions: 1},
		"another audience":                      {options: ReviewOptions{Audiences: []string{"router"}}, server: &apiServer{audiences: []string{"else"}}, header: "Bearer good", want: 401, questions: 1},
		"an API server that knows no audience":  {options: ReviewOptions{Audiences: []string{"router"}}, header: "Bearer good", want: 401, questions: 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := test.server
			if server == nil {
				server = &apiServer{}
			}
			server.tokens = map[string]string{"good": "ann"}
			test.options.TTL, test.options.Size = time.Minute, 10
			mode := NewTokenReview(server, test.options, clocktesting.NewFakeClock(time.Unix(1000, 0)))
			r := request()
			if test.header != "" {
				r.Header.Set("Authorization", test.header)
			}
			for range 2 {
				if got := statusOf(t, mode, r, box()); got != test.want {
					t.Errorf("answered %d, want %d", got, test.want)
				}
			}
			if len(server.asked) != test.questions {
				t.Errorf("asked %q, want %d questions", server.asked, test.questions)
			}
		})
	}
}

// The API server's word is believed for a time; its refusals for a shorter one; and a flood of bad tokens drives no good one out.
func TestReviewsAreRememberedForATime(t *testing.T) {
	server := &apiServer{tokens: map[string]string{"good": "ann"}}
	c := clocktesting.NewFakeClock(time.Unix(1000, 0))
	mode := NewTokenReview(server, ReviewOptions{TTL: 30 * time.Second, Size: 2}, c)
	good := request(with("Authorization", "Bearer good"))
	statusOf(t, mode, good, box())
	for _, bad := range []string{"b1", "b2", "b3", "b4"} {
		statusOf(t, mode, request(with("Authorization", "Bearer "+bad)), box())
	}
	c.Step(29 * time.Second)
	statusOf(t, mode, good, box())
	c.Step(2 * time.Second)
	delete(server.tokens, "good")
	if status := statusOf(t, mode, good, box()); status != 401 {
		t.Errorf("a token that is no more: %d", status)
	}
	server.tokens["good"] = "ann"
	c.Step(4 * time.Second)
	if status := statusOf(t, mode, good, box()); status != 401 {
		t.Errorf("asked again at once: %d", status)
	}
	c.Step(2 * time.Second)
	if status := statusOf(t, mode, good, box()); status != 200 {
		t.Errorf("a token that is good again: %d", status)
	}
	want := []string{"token good", "token b1", "token b2", "token b3", "token b4", "token good", "token good"}
	if difference := cmp.Diff(want, server.asked); difference != "" {
		t.Errorf("questions (-want +got):\n%s", difference)
	}
	for _, cache := range []interface{ Keys() []any }{mode.known, mode.refused} {
		for _, key := range cache.Keys() {
			if strings.Contains(key.(string), "good") {
				t.Errorf("a token is kept as it is: %v", key)
			}
		}
	}
}

func TestRightsAreReviewedForEachSandbox(t *testing.T) {
	server := &apiServer{
		tokens: map[string]string{"ann": "ann", "bob": "bob"},
		may:    map[string]bool{"ann create agents.x-k8s.io/sandboxes/proxy default/box": true},
	}
	c := clocktesting.NewFakeClock(time.Unix(1000, 0))
	mode := NewAccessReview(server, ReviewOptions{TTL: 30 * time.Second, Size: 10}, c)
	ann, bob := request(with("Authorization", "Bearer ann")), request(with("Authorization", "Bearer bob"))
	for range 2 {
		for _, test := range []struct {
			who     *http.Request
			sandbox types.NamespacedName
			want    int
		}{{ann, box(), 200}, {ann, other(), 403}, {bob, box(), 403}, {request(), box(), 401}} {
			if got := statusOf(t, mode, test.who, test.sandbox); got != test.want {
				t.Errorf("%s to %s: %d, want %d", test.who.Header, test.sandbox, got, test.want)
			}
		}
	}
	const who = " group uid x"
	want := []string{
		"token ann", "ann create agents.x-k8s.io/sandboxes/proxy default/box" + who, "ann create agents.x-k8s.io/sandboxes/proxy default/other" + who,
		"token bob", "bob create agents.x-k8s.io/sandboxes/proxy default/box" + who,
	}
	if difference := cmp.Diff(want, server.asked); difference != "" {
		t.Errorf("questions (-want +got):\n%s", difference)
	}
	c.Step(6 * time.Second)
	server.may["bob create agents.x-k8s.io/sandboxes/proxy default/box"] = true
	if got := statusOf(t, mode, bob, box()); got != 200 {
		t.Errorf("a right that was just given: %d", got)
	}
	c.Step(time.Minute)
	server.broken = errors.New("down")
	if got := statusOf(t, mode, ann, box()); got != 500 {
		t.Errorf("an API server that does not answer: %d", got)
	}
}

func TestAnonymousHasRightsToo(t *testing.T) {
	server := &apiServer{may: map[string]bool{"system:anonymous create agents.x-k8s.io/sandboxes/proxy default/box": true}}
	mode := NewAccessReview(server, ReviewOptions{Anonymous: AllowAnonymous, TTL: time.Second, Size: 10}, clocktesting.NewFakeClock(time.Unix(1000, 0)))
	if got := []int{statusOf(t, mode, request(), box()), statusOf(t, mode, request(), other())}; got[0] != 200 || got[1] != 403 {
		t.Errorf("answered %v", got)
	}
}

const secret = "0123456789abcdef0123456789abcdef"

// token signs a payload.
func token(payload string) string {
	signed := "v1." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(secret), signed))
}

const (
	forBox   = `{"namespace":"default","name":"box","exp":2000}`
	forOther = `{"namespace":"default","name":"other","exp":2000}`
)

func scopedMode(edits ...func(*ScopedOptions)) *ScopedToken {
	options := ScopedOptions{Secret: []byte(secret), Cookie: "sandbox_token", Query: "token", SameSite: http.SameSiteLaxMode, Origins: []string{"https://app.example"}}
	for _, apply := range edits {
		apply(&options)
	}
	return NewScopedToken(options, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
}

func TestScopedTokens(t *testing.T) {
	foreign := "v1." + base64.RawURLEncoding.EncodeToString([]byte(forBox)) + "." + base64.RawURLEncoding.EncodeToString(sign([]byte("another secret of thirty-two chars"), "x"))
	good := token(forBox)
	bearerOf := func(token string) func(*http.Request) { return with("Authorization", "Bearer "+token) }
	cookie := func(token string) func(*http.Request) { return with("Cookie", "sandbox_token="+token) }
	for name, test := range map[string]struct {
		edits []func(*http.Request)
		mode  *ScopedToken
		want  int
	}{
		"its own sandbox":              {edits: []func(*http.Request){bearerOf(good)}, want: 200},
		"another sandbox":              {edits: []func(*http.Request){bearerOf(token(forOther))}, want: 403},
		"another namespace":            {edits: []func(*http.Request){bearerOf(token(`{"namespace":"n","name":"box","exp":2000}`))}, want: 403},
		"none":                         {want: 401},
		"at its end":                   {edits: []func(*http.Request){bearerOf(token(`{"namespace":"default","name":"box","exp":1000}`))}, want: 401},
		"without an end":               {edits: []func(*http.Request){bearerOf(token(`{"namespace":"default","name":"box"}`))}, want: 401},
		"with a limit that is unknown": {edits: []func(*http.Request){bearerOf(token(`{"namespace":"default","name":"box","exp":2000,"path":"/a"}`))}, want: 401},
		"with something behind it":     {edits: []func(*http.Request){bearerOf(token(forBox + "{}"))}, want: 401},
		"with another secret":          {edits: []func(*http.Request){bearerOf(foreign)}, want: 401},
		"with a payload of its own":    {edits: []func(*http.Request){bearerOf("v1." + base64.RawURLEncoding.EncodeToString([]byte(forOther)) + good[strings.LastIndex(good, "."):])}, want: 401},
		"of another version":           {edits: []func(*http.Request){bearerOf("v2" + good[2:])}, want: 401},
		"no token at all":              {edits: []func(*http.Request){bearerOf("v1")}, want: 401},

		"by the query":                          {edits: []func(*http.Request){withQuery("a=b&token=" + good)}, want: 200},
		"by a query where none is read":         {edits: []func(*http.Request){withQuery("token=" + good)}, mode: scopedMode(func(o *ScopedOptions) { o.Query = "" }), want: 401},
		"by a cookie":                           {edits: []func(*http.Request){cookie(good)}, want: 200},
		"by a cookie where none is read":        {edits: []func(*http.Request){cookie(good)}, mode: scopedMode(func(o *ScopedOptions) { o.Cookie = "" }), want: 401},
		"by the second of two cookies":          {edits: []func(*http.Request){with("Cookie", "sandbox_token="+token(forOther)+"; sandbox_token="+good)}, want: 200},
		"by a cookie for another sandbox":       {edits: []func(*http.Request){cookie(token(forOther))}, want: 403},
		"a cookie, from the router's own page":  {edits: []func(*http.Request){cookie(good), with("Origin", "https://router.example")}, want: 200},
		"a cookie, from a page that may":        {edits: []func(*http.Request){cookie(good), with("Origin", "https://app.example")}, want: 200},
		"a cookie, from a page that may not":    {edits: []func(*http.Request){cookie(good), with("Origin", "https://evil.example")}, want: 403},
		"a cookie, from a page without a name":  {edits: []func(*http.Request){cookie(good), with("Origin", "null")}, want: 403},
		"a header, which no page of others has": {edits: []func(*http.Request){bearerOf(good), with("Origin", "https://evil.example")}, want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			mode := test.mode
			if mode == nil {
				mode = scopedMode()
			}
			if got := statusOf(t, mode, request(test.edits...), box()); got != test.want {
				t.Errorf("answered %d, want %d", got, test.want)
			}
		})
	}
	for name, wanted := range map[string]target.Target{
		"an address": {Sandbox: box(), PodIP: netip.MustParseAddr("10.0.0.7")}, "a UID": {Sandbox: box(), UID: "u"},
	} {
		_, err := scopedMode().Authenticate(t.Context(), request(bearerOf(good)), wanted)
		if denied, ok := errors.AsType[*Denied](err); !ok || denied.Status != 403 {
			t.Errorf("%s beside a token: %v", name, err)
		}
	}
}

func TestATokenOfTheQueryGoesIntoACookie(t *testing.T) {
	for name, test := range map[string]struct {
		sameSite http.SameSite
		proto    string
		base     string
		want     string
	}{
		"by plain HTTP":               {sameSite: http.SameSiteLaxMode, want: "Path=/; Expires=Thu, 01 Jan 1970 00:33:20 GMT; HttpOnly; SameSite=Lax"},
		"behind a gateway with TLS":   {sameSite: http.SameSiteStrictMode, proto: "https", want: "Path=/; Expires=Thu, 01 Jan 1970 00:33:20 GMT; HttpOnly; Secure; SameSite=Strict"},
		"for pages of other sites":    {sameSite: http.SameSiteNoneMode, want: "Path=/; Expires=Thu, 01 Jan 1970 00:33:20 GMT; HttpOnly; Secure; SameSite=None"},
		"below the path of a sandbox": {sameSite: http.SameSiteLaxMode, base: "/s/default/box/80", want: "Path=/s/default/box/80/; Expires=Thu, 01 Jan 1970 00:33:20 GMT; HttpOnly; SameSite=Lax"},
	} {
		t.Run(name, func(t *testing.T) {
			mode := scopedMode(func(o *ScopedOptions) { o.SameSite = test.sameSite })
			r := request(withQuery("token="+token(forBox)), with("X-Forwarded-Proto", test.proto))
			known, err := mode.Authenticate(t.Context(), r, target.Target{Sandbox: box(), Base: test.base})
			if err != nil || known.Cookie == nil {
				t.Fatalf("%v, cookie %v", err, known.Cookie)
			}
			if got, want := known.Cookie.String(), "sandbox_token="+token(forBox)+"; "+test.want; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestASandboxLearnsNoToken(t *testing.T) {
	for name, test := range map[string]struct {
		query   string
		cookies []string
		want    string
		kept    []string
	}{
		"nothing to take":          {query: "a=b&c", cookies: []string{"x=y"}, want: "a=b&c", kept: []string{"x=y"}},
		"a token of the query":     {query: "a=%zz&token=t&c;d", want: "a=%zz&c;d"},
		"a name that is escaped":   {query: "%74oken=t", want: ""},
		"a name that only ends so": {query: "my-token=t", want: "my-token=t"},
		"a cookie among others":    {cookies: []string{"x=y; sandbox_token=t; z=1"}, kept: []string{"x=y; z=1"}},
		"a cookie alone":           {cookies: []string{"sandbox_token=t"}},
		"two lines of cookies":     {cookies: []string{"sandbox_token=t; a=b", "c=d"}, kept: []string{"a=b", "c=d"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(withQuery(test.query))
			for _, cookie := range test.cookies {
				r.Header.Add("Cookie", cookie)
			}
			scopedMode().Strip(r)
			if r.URL.RawQuery != test.want {
				t.Errorf("query %q, want %q", r.URL.RawQuery, test.want)
			}
			if difference := cmp.Diff(test.kept, r.Header.Values("Cookie")); difference != "" {
				t.Errorf("cookies (-want +got):\n%s", difference)
			}
		})
	}
}

func TestManyAtOnceAskOnce(t *testing.T) {
	server := &apiServer{tokens: map[string]string{"good": "ann"}}
	mode := NewTokenReview(server, ReviewOptions{TTL: time.Minute, Size: 10}, clocktesting.NewFakeClock(time.Unix(1000, 0)))
	server.mu.Lock()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { statusOf(t, mode, request(with("Authorization", "Bearer good")), box()) })
	}
	server.mu.Unlock()
	group.Wait()
	if n := len(server.asked); n < 1 || n > 2 {
		t.Errorf("asked %d times", n)
	}
}

// docs/router.md shows how a token is signed.
func TestTheCommandsThatSignAToken(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(root, "docs", "router.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(document), "<!-- test: "+t.Name()+" -->\n```sh\n")
	commands, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatal("the document has no such commands")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	shell.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(shell.Dir, "secret"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	signed, err := shell.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, signed)
	}
	mode := NewScopedToken(ScopedOptions{Secret: []byte(secret)}, clock.RealClock{})
	r := request(with("Authorization", "Bearer "+strings.TrimSpace(string(signed))))
	if status := statusOf(t, mode, r, types.NamespacedName{Namespace: "default", Name: "my-sandbox"}); status != http.StatusOK {
		t.Errorf("token %s: %d", signed, status)
	}
}
