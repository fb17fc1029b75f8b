package auth

import (
	"net/http"
	"testing"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// FuzzScopedToken: whatever a client sends in place of a token, without the secret it is refused, by every way.
func FuzzScopedToken(f *testing.F) {
	f.Add(token(forOther), "token=x")
	f.Add("v1..", "token=%zz&token=v1.e30.")
	f.Add("v1.eyJuYW1lIjoiYm94In0.", ";&=")
	f.Fuzz(func(t *testing.T, token, query string) {
		mode := scopedMode()
		header := http.Header{"Authorization": {"Bearer " + token}}
		r := request(withQuery(query))
		for _, carried := range []http.Header{header, {"Cookie": {"sandbox_token=" + token}}, {}} {
			r.Header = carried
			known, err := mode.Authenticate(t.Context(), r, target.Target{Sandbox: box()})
			if err == nil {
				err = known.Caller.May(t.Context(), box())
			}
			if err == nil {
				t.Fatalf("%v and query %q passed", carried, query)
			}
			mode.Strip(r)
		}
	})
}
