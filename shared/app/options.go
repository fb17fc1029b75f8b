package app

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Options are the flags that every controller of the project has.
type Options struct {
	LeaderElection LeaderElectionOptions
	Metrics        MetricsOptions
	Client         ClientOptions
	Profiling      ProfilingOptions
	// Tracing exports spans by OTLP.
	Tracing bool
	// CacheLabelled watches only those Pods and Services that carry the tracking label.
	CacheLabelled bool
	// HealthAddress is where /healthz and /readyz are served.
	HealthAddress string
	// Logging is the logger's own set of flags.
	Logging zap.Options
}

// LeaderElectionOptions decide which of several replicas works.
type LeaderElectionOptions struct {
	Enabled   bool
	Namespace string // of the Lease; empty: the namespace that the process runs in
	// LeaseDuration > RenewDeadline > RetryPeriod > 0.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// MetricsOptions decide where and how metrics are served.
type MetricsOptions struct {
	Address       string // "0" serves none
	Secure        bool   // HTTPS
	CertDir       string // with tls.crt and tls.key; empty: a self-signed certificate
	Authorization bool   // TokenReview and SubjectAccessReview on each scrape
	MinTLSVersion string
	CipherSuites  []string
}

// ClientOptions limit the requests to the API server.
type ClientOptions struct {
	QPS   float32 // requests a second; -1: no limit
	Burst int     // requests at once beyond QPS
	// Connections is how many HTTP/2 connections carry what is neither list nor watch; above 0.
	Connections int
	// SeparateWatch gives the lists and watches of the caches a connection of their own.
	SeparateWatch bool
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		LeaderElection: LeaderElectionOptions{
			Enabled:       true,
			LeaseDuration: 15 * time.Second,
			RenewDeadline: 10 * time.Second,
			RetryPeriod:   500 * time.Millisecond,
		},
		Metrics:       MetricsOptions{Address: ":8080"},
		Client:        ClientOptions{QPS: -1, Burst: 10, Connections: 1},
		Profiling:     ProfilingOptions{BlockRate: 1_000_000, MutexFraction: 10},
		HealthAddress: ":8081",
	}
}

// AddFlags binds the options to flags, in named groups.
func (o *Options) AddFlags(groups *cliflag.NamedFlagSets) {
	o.LeaderElection.addFlags(groups.FlagSet("Leader election"))
	o.Metrics.addFlags(groups.FlagSet("Metrics"))
	o.Client.addFlags(groups.FlagSet("API client"))
	o.Profiling.AddFlags(groups.FlagSet("Profiling"))
	groups.FlagSet("Tracing").BoolVar(&o.Tracing, "enable-tracing", o.Tracing,
		"Export traces by OTLP, as the standard OTEL_ environment variables say.")
	groups.FlagSet("API client").BoolVar(&o.CacheLabelled, "cache-label-selectors", o.CacheLabelled,
		"Watch only Pods and Services that carry the label agents.x-k8s.io/sandbox-name-hash. Saves memory where most are not of Sandboxes; what lacks the label is never adopted.")
	groups.FlagSet("Health").StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress,
		"Address of /healthz and /readyz.")
	kubeconfig := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	groups.FlagSet("API client").AddGoFlagSet(kubeconfig)
	logging := flag.NewFlagSet("logging", flag.ContinueOnError)
	o.Logging.BindFlags(logging)
	groups.FlagSet("Logging").AddGoFlagSet(logging)
}

func (o *LeaderElectionOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "leader-elect", o.Enabled, "Work only while holding the Lease; other replicas stand by.")
	fs.StringVar(&o.Namespace, "leader-election-namespace", o.Namespace, "Namespace of the Lease; empty means the controller's own.")
	fs.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration, "How long a Lease that is not renewed keeps others out.")
	fs.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline, "How long the leader tries to renew before it gives up; less than the lease duration.")
	fs.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "Pause between tries; less than the renew deadline.")
}

func (o *MetricsOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Address, "metrics-bind-address", o.Address, "Address of /metrics; 0 turns it off.")
	fs.BoolVar(&o.Secure, "metrics-secure-serving", o.Secure, "Serve metrics over HTTPS.")
	fs.StringVar(&o.CertDir, "metrics-cert-dir", o.CertDir, "Directory with tls.crt and tls.key for metrics over HTTPS; empty means a self-signed certificate.")
	fs.BoolVar(&o.Authorization, "metrics-authorization", o.Authorization, "Ask the API server whether a scraper may read metrics (TokenReview, SubjectAccessReview).")
	fs.StringVar(&o.MinTLSVersion, "tls-min-version", o.MinTLSVersion, "Least TLS version of what this process serves: VersionTLS10 to VersionTLS13.")
	fs.StringSliceVar(&o.CipherSuites, "tls-cipher-suites", o.CipherSuites, "Cipher suites of what this process serves, by Go's names, comma-separated; empty means Go's own choice.")
}

func (o *ClientOptions) addFlags(fs *pflag.FlagSet) {
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests a second to the API server at most; -1 means no limit.")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Requests beyond kube-api-qps that may go out at once; above 0.")
	fs.IntVar(&o.Connections, "api-connections", o.Connections, "HTTP/2 connections for what is neither list nor watch, used in turn; above 0.")
	fs.BoolVar(&o.SeparateWatch, "separate-watch-connection", o.SeparateWatch, "Give the lists and watches of the caches a connection of their own.")
}

// Validate returns the first flag whose value is out of bounds, with the value and the bound.
func (o *Options) Validate() error {
	if o.Client.Burst <= 0 {
		return OutOfBounds("kube-api-burst", o.Client.Burst, "must be above 0")
	}
	if o.Client.QPS != -1 && !(o.Client.QPS > 0) {
		return OutOfBounds("kube-api-qps", o.Client.QPS, "must be above 0, or -1 for no limit")
	}
	if err := AboveZero("api-connections", o.Client.Connections); err != nil {
		return err
	}
	if err := o.LeaderElection.validate(); err != nil {
		return err
	}
	if err := o.Metrics.validate(); err != nil {
		return err
	}
	if err := ValidateAddress("health-probe-bind-address", o.HealthAddress); err != nil {
		return err
	}
	if profiling := o.Profiling.Flag(); profiling != "" && o.Metrics.Address == "0" {
		return OutOfBounds(profiling, true, "needs the metrics server, which --metrics-bind-address=0 turns off")
	}
	return nil
}

func (o MetricsOptions) validate() error {
	if err := ValidateAddress("metrics-bind-address", o.Address); err != nil {
		return err
	}
	if _, err := o.tlsOptions(); err != nil || o.CertDir == "" {
		return err
	}
	for _, file := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(o.CertDir, file)); err != nil {
			return OutOfBounds("metrics-cert-dir", o.CertDir, fmt.Sprintf("must hold %s: %v", file, err))
		}
	}
	return nil
}

func (o LeaderElectionOptions) validate() error {
	switch {
	case o.RetryPeriod <= 0:
		return OutOfBounds("leader-elect-retry-period", o.RetryPeriod, "must be above 0")
	case o.RenewDeadline <= o.RetryPeriod:
		return OutOfBounds("leader-elect-renew-deadline", o.RenewDeadline, fmt.Sprintf("must be above --leader-elect-retry-period (%s)", o.RetryPeriod))
	case o.LeaseDuration <= o.RenewDeadline:
		return OutOfBounds("leader-elect-lease-duration", o.LeaseDuration, fmt.Sprintf("must be above --leader-elect-renew-deadline (%s)", o.RenewDeadline))
	}
	return nil
}

// findNamespace fails when the Lease would have no namespace: none was given, and the process runs in no Pod.
func (o LeaderElectionOptions) findNamespace(file string) error {
	if !o.Enabled || o.Namespace != "" {
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return errors.New(`--leader-election-namespace="": must be set outside a cluster; or run a single replica with --leader-elect=false`)
	}
	return nil
}

func (o MetricsOptions) tlsOptions() ([]func(*tls.Config), error) {
	version, err := cliflag.TLSVersion(o.MinTLSVersion)
	if err != nil {
		return nil, OutOfBounds("tls-min-version", o.MinTLSVersion, "must be one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13")
	}
	suites, err := cliflag.TLSCipherSuites(o.CipherSuites)
	if err != nil {
		return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
	}
	return []func(*tls.Config){func(served *tls.Config) {
		served.MinVersion = version
		if len(suites) > 0 {
			served.CipherSuites = suites
		}
	}}, nil
}

// ValidateAddress returns an error that names the flag when nothing could listen at the address; "0" asks for no server.
func ValidateAddress(flagName, address string) error {
	if address == "0" {
		return nil
	}
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return OutOfBounds(flagName, address, fmt.Sprintf("must be an address as :8080, or 0 for none: %v", err))
	}
	return nil
}

// AboveZero returns an error that names the flag when value is not above zero.
func AboveZero[T int | time.Duration](flagName string, value T) error {
	if value > 0 {
		return nil
	}
	return OutOfBounds(flagName, value, "must be above 0")
}

// NotNegative returns an error that names the flag when value is below zero.
func NotNegative(flagName string, value time.Duration) error {
	if value >= 0 {
		return nil
	}
	return OutOfBounds(flagName, value, "must be 0 or above")
}

// OutOfBounds is the error about a flag whose value is not within the bound.
func OutOfBounds(flagName string, value any, bound string) error {
	return fmt.Errorf("--%s=%v: %s", flagName, value, bound)
}
