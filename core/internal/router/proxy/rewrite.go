package proxy

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

// rewrite makes the request that the sandbox sees. Its address is filled in for each try.
func (h *Handler) rewrite(request *httputil.ProxyRequest) {
	in, out := request.In, request.Out
	x := exchangeOf(out.Context())
	out.URL.Scheme, out.Host = "http", ""
	// What the library takes for a bad query is the sandbox's own business.
	out.URL.RawQuery = in.URL.RawQuery
	if x.wanted.Base != "" {
		setPath(out.URL, x.wanted.Rest(in.URL.EscapedPath()))
		out.Header.Set("X-Forwarded-Prefix", x.wanted.Base)
	}
	out.Header.Del("Authorization")
	h.authenticator.Strip(out)
	request.SetXForwarded()
	if out.Header.Get("Upgrade") != "" {
		// Servers of WebSockets compare it with their own host, which is not the one that the browser knows.
		out.Header.Del("Origin")
	}
	propagation.TraceContext{}.Inject(out.Context(), propagation.HeaderCarrier(out.Header))
}

func setPath(to *url.URL, escaped string) {
	to.RawPath = escaped
	if path, err := url.PathUnescape(escaped); err == nil {
		to.Path = path
	}
}

// answered looks at an answer before it goes back.
func (h *Handler) answered(response *http.Response) error {
	x := exchangeOf(response.Request.Context())
	x.begun(response)
	if x.wanted.Base == "" || !h.options.RewriteResponses {
		return nil
	}
	if location := response.Header.Get("Location"); location != "" {
		response.Header.Set("Location", x.below(location))
	}
	cookies := response.Header["Set-Cookie"]
	for i, cookie := range cookies {
		cookies[i] = cookieBelow(x.wanted.Base, cookie)
	}
	return nil
}

// below is where a redirect of the sandbox leads from outside. What leads elsewhere is left alone.
func (x *exchange) below(location string) string {
	to, err := url.Parse(location)
	if err != nil {
		return location
	}
	own := net.JoinHostPort(x.endpoint.Host, strconv.Itoa(int(x.wanted.Port)))
	switch {
	case to.Host != "" && !strings.EqualFold(to.Host, own) && !strings.EqualFold(to.Host, x.inHost):
		return location
	case to.Host == "" && (to.Scheme != "" || !strings.HasPrefix(to.Path, "/")):
		return location
	}
	inside := url.URL{Path: to.Path, RawPath: to.RawPath, RawQuery: to.RawQuery, ForceQuery: to.ForceQuery, Fragment: to.Fragment, RawFragment: to.RawFragment}
	path := inside.EscapedPath()
	if path == "" {
		path = "/"
	}
	rest := strings.TrimPrefix(inside.String(), inside.EscapedPath())
	return pathBelow(x.wanted.Base, path) + rest
}

// pathBelow puts the base before a path, unless the sandbox has done so, which the header X-Forwarded-Prefix lets it.
func pathBelow(base, path string) string {
	if path == base || strings.HasPrefix(path, base+"/") {
		return path
	}
	return base + path
}

// cookieBelow keeps the cookie of a sandbox from other sandboxes, and changes nothing else of it.
func cookieBelow(base, cookie string) string {
	parts := strings.Split(cookie, ";")
	for i, part := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(name, "Path") && strings.HasPrefix(value, "/") {
			parts[i+1] = " Path=" + pathBelow(base, value)
		}
	}
	return strings.Join(parts, ";")
}
