package program

import (
	"flag"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// Flags that errors and other flags name.
const (
	httpFlag         = "http-bind-address"
	httpsFlag        = "https-bind-address"
	certFlag         = "tls-cert-file"
	keyFlag          = "tls-key-file"
	clientCAFlag     = "tls-client-ca-file"
	mtlsFlag         = "mtls-mode"
	shutdownFlag     = "shutdown-timeout"
	connectionsFlag  = "max-connections"
	requestsFlag     = "max-concurrent-requests"
	bodyFlag         = "max-request-body-bytes"
	prefixFlag       = "path-routing-prefix"
	cacheFlag        = "cache-enabled"
	namespaceFlag    = "cache-namespace"
	domainFlag       = "cluster-domain"
	timeoutFlag      = "proxy-timeout"
	headerFlag       = "response-header-timeout"
	connectFlag      = "upstream-connect-timeout"
	retriesFlag      = "upstream-max-retries"
	firstDelayFlag   = "upstream-retry-initial-delay"
	longestDelayFlag = "upstream-retry-max-delay"
	idleFlag         = "upstream-max-idle-connections"
	idleEachFlag     = "upstream-max-idle-connections-per-sandbox"
	idleTimeoutFlag  = "upstream-idle-timeout"
	authzFlag        = "authz-mode"
	ttlFlag          = "authz-tokenreview-ttl"
	sizeFlag         = "authz-tokenreview-cache-size"
	secretFlag       = "authz-scoped-token-secret-file"
	cookieFlag       = "authz-cookie-name"
	queryFlag        = "authz-query-param"
	sameSiteFlag     = "authz-samesite"
	originsFlag      = "authz-allowed-origins"
	metricsFlag      = "metrics-bind-address"
	healthFlag       = "health-probe-bind-address"
)

// flags are those of the router.
type flags struct {
	file    string
	serving servingFlags
	proxy   proxy.Options
	// allowLoopback is part of the rules of targets.
	allowLoopback bool
	cache         cacheFlags
	authz         authzFlags
	metrics       string
	health        string
	profiling     app.ProfilingOptions
	tracing       bool
	logging       zap.Options
}

// servingFlags say where and how clients are served.
type servingFlags struct {
	http, https         string
	cert, key, clientCA string
	mtls                string
	shutdown            time.Duration
	connections         int
}

// cacheFlags say how sandboxes are found.
type cacheFlags struct {
	enabled       bool
	namespace     string
	clusterDomain string
}

// authzFlags say who may speak to which sandbox.
type authzFlags struct {
	mode         string
	ttl          time.Duration
	size         int
	requireToken bool
	audiences    []string
	secretFile   string
	cookie       string
	query        string
	sameSite     string
	origins      []string
}

func newFlags() *flags {
	return &flags{
		serving: servingFlags{http: ":8080", mtls: mtlsOff, shutdown: 30 * time.Second},
		proxy: proxy.Options{
			RewriteResponses: true,
			Timeout:          180 * time.Second, HeaderTimeout: 30 * time.Second, ConnectTimeout: 5 * time.Second,
			Retries: proxy.Retries{Most: 3, First: 200 * time.Millisecond, Longest: 800 * time.Millisecond},
			Idle:    proxy.Idle{All: 1000, PerSandbox: 64, Timeout: 90 * time.Second},
		},
		cache:     cacheFlags{enabled: true, clusterDomain: "cluster.local"},
		authz:     authzFlags{mode: authzAllowAll, ttl: 30 * time.Second, size: 2048, requireToken: true, sameSite: sameSiteLax},
		metrics:   ":9090",
		health:    ":8081",
		profiling: app.NewOptions().Profiling,
	}
}

func (f *flags) add(groups *cliflag.NamedFlagSets) {
	f.serving.add(groups)
	f.addRequests(groups)
	f.addUpstream(groups)
	f.cache.add(groups)
	f.authz.add(groups)
	groups.FlagSet("Metrics").StringVar(&f.metrics, metricsFlag, f.metrics, "Address of /metrics; 0 turns it off.")
	groups.FlagSet("Health").StringVar(&f.health, healthFlag, f.health, "Address of /healthz and /readyz; 0 turns it off. Both are served beside the sandboxes too.")
	f.profiling.AddFlags(groups.FlagSet("Profiling"))
	groups.FlagSet("Tracing").BoolVar(&f.tracing, "enable-tracing", f.tracing, "Export traces by OTLP, as the standard OTEL_ environment variables say.")
	kubeconfig := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	groups.FlagSet("API client").AddGoFlagSet(kubeconfig)
	logging := flag.NewFlagSet("logging", flag.ContinueOnError)
	f.logging.BindFlags(logging)
	groups.FlagSet("Logging").AddGoFlagSet(logging)
	groups.FlagSet("Logging").BoolVar(&f.proxy.AccessLog, "access-log", f.proxy.AccessLog, "Log each request, but for its query.")
}

func (s *servingFlags) add(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Serving")
	fs.StringVar(&s.http, httpFlag, s.http, "Address for requests without TLS; 0 turns it off.")
	fs.StringVar(&s.https, httpsFlag, s.https, "Address for requests with TLS; empty or 0: none.")
	fs.StringVar(&s.cert, certFlag, s.cert, "Certificate of TLS, a PEM file that is read again when it changes.")
	fs.StringVar(&s.key, keyFlag, s.key, "Key of that certificate, likewise.")
	fs.StringVar(&s.clientCA, clientCAFlag, s.clientCA, "Authorities of clients' certificates, likewise.")
	fs.StringVar(&s.mtls, mtlsFlag, s.mtls, "Whether clients show a certificate: off, optional, required.")
	fs.DurationVar(&s.shutdown, shutdownFlag, s.shutdown, "How long requests under way, upgraded ones included, are waited for at the end; above 0.")
	fs.IntVar(&s.connections, connectionsFlag, s.connections, "Clients that are connected at the same time, on each address; further ones wait. 0 is no limit.")
}

func (f *flags) addRequests(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Requests")
	fs.IntVar(&f.proxy.Limits.Requests, requestsFlag, f.proxy.Limits.Requests, "Requests under way at the same time, upgraded ones included; further ones are answered 503. 0 is no limit.")
	fs.Int64Var(&f.proxy.Limits.Body, bodyFlag, f.proxy.Limits.Body, "Bytes of a request's body at most; more is answered 413. 0 is no limit.")
	fs.StringVar(&f.proxy.Rules.PathPrefix, prefixFlag, f.proxy.Rules.PathPrefix,
		"Take PREFIX/NAMESPACE/ID/PORT/REST, as of links in a browser, for a request of REST to that sandbox; empty: by headers alone.")
	fs.BoolVar(&f.proxy.RewriteResponses, "path-routing-rewrite-responses", f.proxy.RewriteResponses,
		"With --path-routing-prefix, have redirects and cookies of a sandbox stay below its path.")
	fs.BoolVar(&f.allowLoopback, "allow-loopback-pod-ip", f.allowLoopback, "Route to loopback addresses too, which are the router's own machine: for tests.")
}

func (f *flags) addUpstream(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Sandboxes")
	o := &f.proxy
	fs.DurationVar(&o.Timeout, timeoutFlag, o.Timeout, "How long a request may take that is neither upgraded nor answered by a stream; 0 is no limit. The header X-Sandbox-Timeout of a request counts instead.")
	fs.DurationVar(&o.HeaderTimeout, headerFlag, o.HeaderTimeout, "How long a sandbox may take to begin its answer, from when the request was sent; 0 is no limit. X-Sandbox-Timeout counts instead.")
	fs.DurationVar(&o.ConnectTimeout, connectFlag, o.ConnectTimeout, "How long one try to connect to a sandbox may take; above 0.")
	fs.IntVar(&o.Retries.Most, retriesFlag, o.Retries.Most, "Tries to connect after the first; 0 to 20. Nothing else is tried again.")
	fs.DurationVar(&o.Retries.First, firstDelayFlag, o.Retries.First, "Pause before the first of these, which doubles for each; above 0.")
	fs.DurationVar(&o.Retries.Longest, longestDelayFlag, o.Retries.Longest, "Longest such pause; not below the first.")
	fs.IntVar(&o.Idle.All, idleFlag, o.Idle.All, "Connections to sandboxes that are kept for further requests; 0 is no limit.")
	fs.IntVar(&o.Idle.PerSandbox, idleEachFlag, o.Idle.PerSandbox, "Of these, to the same port of a sandbox; above 0.")
	fs.DurationVar(&o.Idle.Timeout, idleTimeoutFlag, o.Idle.Timeout, "How long such a connection is kept; 0 is no limit.")
}

func (c *cacheFlags) add(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Sandboxes")
	fs.BoolVar(&c.enabled, cacheFlag, c.enabled,
		"Watch the Pods of sandboxes, and route to nothing else. Without it the router believes what a request says of an address, and needs no API server.")
	fs.StringVar(&c.namespace, namespaceFlag, c.namespace, "Watch this namespace alone; empty: all.")
	fs.StringVar(&c.clusterDomain, domainFlag, c.clusterDomain, "DNS domain of the cluster, the end of the names of Services.")
}

func (a *authzFlags) add(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Authorization")
	fs.StringVar(&a.mode, authzFlag, a.mode, "Who may speak to which sandbox: allow-all, tokenreview, subject-access-review, scoped-token.")
	fs.DurationVar(&a.ttl, ttlFlag, a.ttl, "How long the API server's word about a token, and about what its owner may, is believed; above 0.")
	fs.IntVar(&a.size, sizeFlag, a.size, "How many such words are kept; above 0.")
	fs.BoolVar(&a.requireToken, "authz-tokenreview-require-token", a.requireToken, "Refuse requests without a token; else they are those of system:anonymous.")
	fs.StringSliceVar(&a.audiences, "authz-tokenreview-audiences", a.audiences, "Audiences of which a token must be for one, comma-separated; empty: that of the API server.")
	fs.StringVar(&a.secretFile, secretFlag, a.secretFile, "File with the secret of scoped tokens, 32 bytes at least; a line break at its end is none of it.")
	fs.StringVar(&a.cookie, cookieFlag, a.cookie, "Cookie in which a browser may send a scoped token; empty: none.")
	fs.StringVar(&a.query, queryFlag, a.query, "Parameter of the query in which a browser may send a scoped token, which then goes into the cookie; empty: none.")
	fs.StringVar(&a.sameSite, sameSiteFlag, a.sameSite, "SameSite of that cookie: lax, strict, none.")
	fs.StringSliceVar(&a.origins, originsFlag, a.origins, "Origins beside the router's own whose pages may use that cookie, as https://example.com, comma-separated.")
}
