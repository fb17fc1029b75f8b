package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// reloadEvery is how often the files of certificates are looked at. The kubelet takes longer to bring a new Secret to a Pod.
const reloadEvery = 10 * time.Second

// Values of the label outcome.
const (
	reloaded     = "success"
	notReloaded  = "failure"
	labelOutcome = "outcome"
)

// CertificateFiles are those of TLS.
type CertificateFiles struct {
	// Certificate and Key are PEM files. ClientCA is one of authorities of clients' certificates; empty: none are asked for.
	Certificate, Key, ClientCA string
	// ClientAuth says what is asked of clients.
	ClientAuth tls.ClientAuthType
}

// Certificates are those of TLS, as their files are by now.
type Certificates struct {
	files   CertificateFiles
	reloads *prometheus.CounterVec
	log     logr.Logger
	read    [][]byte
	current atomic.Pointer[tls.Config]
}

// NewCertificates reads the files, and registers the metric of their reloads. It fails where a file is missing or makes no sense.
func NewCertificates(files CertificateFiles, registry prometheus.Registerer, log logr.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, reloads: reloadCounter()}
	if err := register(registry, c.reloads); err != nil {
		return nil, err
	}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// RegisterReloads registers the metric alone, where there is no TLS.
func RegisterReloads(registry prometheus.Registerer) error {
	return register(registry, reloadCounter())
}

func register(registry prometheus.Registerer, reloads *prometheus.CounterVec) error {
	if err := registry.Register(reloads); err != nil {
		return fmt.Errorf("registering sandbox_router_cert_reloads_total: %w", err)
	}
	return nil
}

func reloadCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sandbox_router_cert_reloads_total", Help: "Times that changed certificates were read, by outcome: success, failure.",
	}, []string{labelOutcome})
}

// Config is for a server: each handshake takes the certificates of the moment.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil },
		// A server asks for a certificate before it asks for the rest.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.current.Load().Certificates[0], nil },
	}
}

// Watch reads the files again whenever they have changed, until ctx ends. What makes no sense is told and left: the certificates before it
// stay.
func (c *Certificates) Watch(ctx context.Context, ticks clock.WithTicker) {
	ticker := ticks.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			c.reload()
		}
	}
}

func (c *Certificates) reload() {
	changed, err := c.load()
	if err != nil {
		c.reloads.WithLabelValues(notReloaded).Inc()
		c.log.Error(err, "The certificates are still the old ones: their files make no sense")
		return
	}
	if changed {
		c.reloads.WithLabelValues(reloaded).Inc()
		c.log.Info("Certificates changed")
	}
}

// load says whether the files have changed. They are taken together or not at all.
func (c *Certificates) load() (changed bool, err error) {
	var read [][]byte
	for _, file := range []string{c.files.Certificate, c.files.Key, c.files.ClientCA} {
		var content []byte
		if file != "" {
			if content, err = os.ReadFile(file); err != nil {
				return false, fmt.Errorf("reading a file of TLS: %w", err)
			}
		}
		read = append(read, content)
	}
	if same(read, c.read) {
		return false, nil
	}
	config, err := c.configOf(read[0], read[1], read[2])
	if err != nil {
		return false, err
	}
	c.read = read
	c.current.Store(config)
	return true, nil
}

func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (c *Certificates) configOf(certificate, key, authorities []byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading certificate %s with key %s: %w", c.files.Certificate, c.files.Key, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}, ClientAuth: c.files.ClientAuth,
	}
	if c.files.ClientCA == "" {
		return config, nil
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("reading authorities of clients: %s holds no PEM certificate", c.files.ClientCA)
	}
	return config, nil
}
