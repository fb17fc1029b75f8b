package program

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// Values of --authz-mode.
const (
	authzAllowAll     = "allow-all"
	authzTokenReview  = "tokenreview"
	authzAccessReview = "subject-access-review"
	authzScopedToken  = "scoped-token"
)

const (
	mtlsOff     = "off"
	sameSiteLax = "lax"
)

// mostRetries is a bound beyond which a client waits in vain.
const mostRetries = 20

// clientAuths are the values of --mtls-mode.
func clientAuths() map[string]tls.ClientAuthType {
	return map[string]tls.ClientAuthType{mtlsOff: tls.NoClientCert, "optional": tls.VerifyClientCertIfGiven, "required": tls.RequireAndVerifyClientCert}
}

// sameSites are the values of --authz-samesite.
func sameSites() map[string]http.SameSite {
	return map[string]http.SameSite{sameSiteLax: http.SameSiteLaxMode, "strict": http.SameSiteStrictMode, "none": http.SameSiteNoneMode}
}

// validate returns the first flag that is out of bounds.
func (f *flags) validate() error {
	for _, check := range []func() error{f.serving.validate, f.validateRequests, f.validateUpstream, f.cache.validate, f.validateAuthz, f.validateOperation} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s servingFlags) validate() error {
	if err := app.ValidateAddress(httpFlag, s.http); err != nil {
		return err
	}
	if s.https != "" {
		if err := app.ValidateAddress(httpsFlag, s.https); err != nil {
			return err
		}
	}
	_, known := clientAuths()[s.mtls]
	switch {
	case s.http == "0" && !s.isSecure():
		return app.OutOfBounds(httpFlag, s.http, "needs --"+httpsFlag+": nothing would be served otherwise")
	case s.isSecure() && s.cert == "":
		return app.OutOfBounds(certFlag, `""`, "must name a file, since --"+httpsFlag+" is set")
	case s.isSecure() && s.key == "":
		return app.OutOfBounds(keyFlag, `""`, "must name a file, since --"+httpsFlag+" is set")
	case !known:
		return app.OutOfBounds(mtlsFlag, s.mtls, "must be one of "+choices(clientAuths()))
	case s.mtls != mtlsOff && !s.isSecure():
		return app.OutOfBounds(mtlsFlag, s.mtls, "needs --"+httpsFlag)
	case s.mtls != mtlsOff && s.clientCA == "":
		return app.OutOfBounds(mtlsFlag, s.mtls, "needs --"+clientCAFlag)
	case s.mtls == "required" && s.http != "0":
		return app.OutOfBounds(mtlsFlag, s.mtls, "needs --"+httpFlag+"=0: clients could do without TLS otherwise")
	}
	if err := notNegative(connectionsFlag, s.connections); err != nil {
		return err
	}
	return app.AboveZero(shutdownFlag, s.shutdown)
}

func (s servingFlags) isSecure() bool { return s.https != "" && s.https != "0" }

// plainPrefix is a path of which no character is ever escaped.
var plainPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

func (f *flags) validateRequests() error {
	if err := notNegative(requestsFlag, f.proxy.Limits.Requests); err != nil {
		return err
	}
	if err := notNegative(bodyFlag, f.proxy.Limits.Body); err != nil {
		return err
	}
	if prefix := f.proxy.Rules.PathPrefix; prefix != "" && !plainPrefix.MatchString(prefix) {
		return app.OutOfBounds(prefixFlag, prefix, "must be a path as /sandboxes, of letters, digits and -._~, without a slash at the end")
	}
	return nil
}

func (f *flags) validateUpstream() error {
	o := f.proxy
	for name, value := range map[string]time.Duration{timeoutFlag: o.Timeout, headerFlag: o.HeaderTimeout, idleTimeoutFlag: o.Idle.Timeout} {
		if err := app.NotNegative(name, value); err != nil {
			return err
		}
	}
	for name, value := range map[string]time.Duration{connectFlag: o.ConnectTimeout, firstDelayFlag: o.Retries.First} {
		if err := app.AboveZero(name, value); err != nil {
			return err
		}
	}
	switch {
	case o.Retries.Most < 0 || o.Retries.Most > mostRetries:
		return app.OutOfBounds(retriesFlag, o.Retries.Most, fmt.Sprintf("must be 0 to %d", mostRetries))
	case o.Retries.Longest < o.Retries.First:
		return app.OutOfBounds(longestDelayFlag, o.Retries.Longest, fmt.Sprintf("must not be below --%s (%s)", firstDelayFlag, o.Retries.First))
	}
	if err := notNegative(idleFlag, o.Idle.All); err != nil {
		return err
	}
	return app.AboveZero(idleEachFlag, o.Idle.PerSandbox)
}

func (c cacheFlags) validate() error {
	if problems := validation.IsDNS1123Subdomain(c.clusterDomain); len(problems) > 0 {
		return app.OutOfBounds(domainFlag, c.clusterDomain, "must be a DNS name, as cluster.local: "+problems[0])
	}
	if c.namespace == "" {
		return nil
	}
	if problems := validation.IsDNS1123Label(c.namespace); len(problems) > 0 {
		return app.OutOfBounds(namespaceFlag, c.namespace, "must be the name of a namespace: "+problems[0])
	}
	if !c.enabled {
		return app.OutOfBounds(namespaceFlag, c.namespace, "needs --"+cacheFlag)
	}
	return nil
}

func (f *flags) validateAuthz() error {
	a := f.authz
	switch a.mode {
	case authzAllowAll:
		return nil
	case authzTokenReview:
		return a.validateReview()
	case authzAccessReview:
		if !f.cache.enabled {
			return app.OutOfBounds(authzFlag, a.mode, "needs --"+cacheFlag+": the router must know whose an address is")
		}
		return a.validateReview()
	case authzScopedToken:
		return a.validateScoped()
	}
	return app.OutOfBounds(authzFlag, a.mode, "must be one of "+strings.Join([]string{authzAllowAll, authzTokenReview, authzAccessReview, authzScopedToken}, ", "))
}

func (a authzFlags) validateReview() error {
	if err := app.AboveZero(ttlFlag, a.ttl); err != nil {
		return err
	}
	return app.AboveZero(sizeFlag, a.size)
}

func (a authzFlags) validateScoped() error {
	if a.secretFile == "" {
		return app.OutOfBounds(secretFlag, `""`, "must name a file, since --"+authzFlag+" is "+a.mode)
	}
	if _, known := sameSites()[a.sameSite]; !known {
		return app.OutOfBounds(sameSiteFlag, a.sameSite, "must be one of "+choices(sameSites()))
	}
	if a.cookie != "" && (&http.Cookie{Name: a.cookie, Value: "v"}).Valid() != nil {
		return app.OutOfBounds(cookieFlag, a.cookie, "must be the name of a cookie, as sandbox_token")
	}
	for _, origin := range a.origins {
		if read, err := url.Parse(origin); err != nil || read.Host == "" || read.Scheme+"://"+read.Host != origin {
			return app.OutOfBounds(originsFlag, origin, "must be an origin as https://example.com, without a path")
		}
	}
	return nil
}

// readSecret returns the secret of scoped tokens.
func (a authzFlags) readSecret() ([]byte, error) {
	content, err := os.ReadFile(a.secretFile)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", secretFlag, err)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if len(secret) < auth.LeastSecret {
		return nil, app.OutOfBounds(secretFlag, a.secretFile, fmt.Sprintf("must hold %d bytes at least, and holds %d", auth.LeastSecret, len(secret)))
	}
	return []byte(secret), nil
}

func (f *flags) validateOperation() error {
	if err := app.ValidateAddress(metricsFlag, f.metrics); err != nil {
		return err
	}
	if profiling := f.profiling.Flag(); profiling != "" && f.metrics == "0" {
		return app.OutOfBounds(profiling, true, "needs the metrics server, which --"+metricsFlag+"=0 turns off")
	}
	return app.ValidateAddress(healthFlag, f.health)
}

func notNegative[T int | int64](name string, value T) error {
	if value >= 0 {
		return nil
	}
	return app.OutOfBounds(name, value, "must be 0 or above")
}

func choices[T any](of map[string]T) string { return strings.Join(slices.Sorted(maps.Keys(of)), ", ") }
