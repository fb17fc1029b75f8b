package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

func (s *ScopedToken) fromQuery(request *http.Request) string {
	if s.options.Query == "" {
		return ""
	}
	for part := range strings.SplitSeq(request.URL.RawQuery, "&") {
		if name, value, _ := strings.Cut(part, "="); isParameter(name, s.options.Query) {
			if token, err := url.QueryUnescape(value); err == nil {
				return token
			}
		}
	}
	return ""
}

func isParameter(raw, name string) bool {
	unescaped, err := url.QueryUnescape(raw)
	return err == nil && unescaped == name
}

// cookie keeps a token for what the page of a sandbox loads, as long as the token lasts. No script can read it.
func (s *ScopedToken) cookie(request *http.Request, wanted target.Target, token string, known Credential) *http.Cookie {
	cookie := &http.Cookie{
		Name: s.options.Cookie, Value: token, Path: wanted.Base + "/", HttpOnly: true, SameSite: s.options.SameSite,
		// A gateway before the router may be the end of TLS.
		Secure: request.TLS != nil || request.Header.Get("X-Forwarded-Proto") == "https" || s.options.SameSite == http.SameSiteNoneMode,
	}
	if granted, ok := known.Caller.(scope); ok {
		cookie.Expires = time.Unix(granted.Expires, 0)
	}
	return cookie
}

// checkOrigin refuses what the page of another site does with the cookie of its visitor, WebSockets included, which no other rule of
// browsers stops.
func (s *ScopedToken) checkOrigin(request *http.Request) error {
	origin := request.Header.Get("Origin")
	if origin == "" || slices.Contains(s.options.Origins, origin) {
		return nil
	}
	if from, err := url.Parse(origin); err == nil && from.Host != "" && strings.EqualFold(from.Host, request.Host) {
		return nil
	}
	return forbidden("This origin may not use the cookie of the router.")
}

// Strip takes the token out of what the sandbox sees.
func (s *ScopedToken) Strip(out *http.Request) {
	if s.options.Query != "" && out.URL.RawQuery != "" {
		kept := slices.DeleteFunc(strings.Split(out.URL.RawQuery, "&"), func(part string) bool {
			name, _, _ := strings.Cut(part, "=")
			return isParameter(name, s.options.Query)
		})
		out.URL.RawQuery = strings.Join(kept, "&")
	}
	if s.options.Cookie != "" {
		stripCookie(out.Header, s.options.Cookie)
	}
}

func stripCookie(header http.Header, name string) {
	var kept []string
	for _, line := range header.Values("Cookie") {
		parts := slices.DeleteFunc(strings.Split(line, ";"), func(part string) bool {
			found, _, _ := strings.Cut(strings.TrimSpace(part), "=")
			return found == name
		})
		if rest := strings.TrimSpace(strings.Join(parts, ";")); rest != "" {
			kept = append(kept, rest)
		}
	}
	header.Del("Cookie")
	for _, line := range kept {
		header.Add("Cookie", line)
	}
}
