package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/agent-sandbox/core/internal/router/serve"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// issue returns a certificate of that name that signs itself, and its key, as PEM.
func issue(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shake makes a handshake and returns whom the server says it is.
func shake(t *testing.T, config *tls.Config, client *tls.Config) (string, error) {
	t.Helper()
	listener := listen(t)
	done := make(chan error, 1)
	go func() {
		far, err := listener.Accept()
		if err == nil {
			err = errors.Join(tls.Server(far, config).HandshakeContext(t.Context()), far.Close())
		}
		done <- err
	}()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.InsecureSkipVerify = true //nolint:gosec // The test looks at the certificate itself.
	connection := tls.Client(near, client)
	err = connection.HandshakeContext(t.Context())
	if refused := <-done; err == nil {
		err = refused
	}
	defer func() { _, _ = near.Close(), listener.Close() }()
	if err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	files := serve.CertificateFiles{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientAuth: tls.NoClientCert}
	put := func(name string) {
		certificate, key := issue(t, name)
		write(t, files.Certificate, certificate)
		write(t, files.Key, key)
	}
	put("first")
	registry := prometheus.NewRegistry()
	certificates, err := serve.NewCertificates(files, registry, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ticks := clocktesting.NewFakeClock(time.Unix(1000, 0))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		certificates.Watch(ctx, ticks)
		close(ended)
	}()
	defer func() {
		stop()
		<-ended
	}()
	expect := func(name, metrics string) {
		t.Helper()
		testkit.Eventually(t, "the certificate "+name, func() error {
			ticks.Step(10 * time.Second)
			return testutil.GatherAndCompare(registry, strings.NewReader(metrics))
		})
		if got, err := shake(t, certificates.Config(), &tls.Config{}); err != nil || got != name {
			t.Errorf("%v, the server is %q, want %q", err, got, name)
		}
	}
	const head = "# HELP sandbox_router_cert_reloads_total Times that changed certificates were read, by outcome: success, failure.\n" +
		"# TYPE sandbox_router_cert_reloads_total counter\n"
	expect("first", "")
	put("second")
	expect("second", head+`sandbox_router_cert_reloads_total{outcome="success"} 1`+"\n")
	other, _ := issue(t, "third")
	write(t, files.Certificate, other)
	testkit.Eventually(t, "a certificate that its key does not fit to be told", func() error {
		ticks.Step(10 * time.Second)
		if n, err := testutil.GatherAndCount(registry); n != 2 {
			return err
		}
		return nil
	})
	if got, err := shake(t, certificates.Config(), &tls.Config{}); err != nil || got != "second" {
		t.Errorf("%v, the server is %q, want the last certificate that made sense", err, got)
	}
	put("fourth")
	testkit.Eventually(t, "the next pair", func() error {
		ticks.Step(10 * time.Second)
		if got, err := shake(t, certificates.Config(), &tls.Config{}); got != "fourth" {
			return fmt.Errorf("it is still %q: %w", got, err)
		}
		return nil
	})
}

func TestClientsShowACertificateWhereTheyMust(t *testing.T) {
	dir := t.TempDir()
	certificate, key := issue(t, "router")
	known, knownKey := issue(t, "known")
	stranger, strangerKey := issue(t, "stranger")
	files := serve.CertificateFiles{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	write(t, files.Certificate, certificate)
	write(t, files.Key, key)
	write(t, files.ClientCA, known)
	pair := func(certificate, key []byte) []tls.Certificate {
		read, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{read}
	}
	for name, test := range map[string]struct {
		asked  tls.ClientAuthType
		shown  []tls.Certificate
		most   uint16
		passes bool
	}{
		"required, and shown":                  {asked: tls.RequireAndVerifyClientCert, shown: pair(known, knownKey), passes: true},
		"required, and not shown":              {asked: tls.RequireAndVerifyClientCert},
		"required, and a stranger's":           {asked: tls.RequireAndVerifyClientCert, shown: pair(stranger, strangerKey)},
		"optional, and not shown":              {asked: tls.VerifyClientCertIfGiven, passes: true},
		"optional, and a stranger's":           {asked: tls.VerifyClientCertIfGiven, shown: pair(stranger, strangerKey)},
		"a version of TLS that is out of date": {asked: tls.VerifyClientCertIfGiven, most: tls.VersionTLS11},
	} {
		t.Run(name, func(t *testing.T) {
			files.ClientAuth = test.asked
			certificates, err := serve.NewCertificates(files, prometheus.NewRegistry(), logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			client := &tls.Config{
				MinVersion: tls.VersionTLS10, MaxVersion: test.most, //nolint:gosec // It is to be refused.
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if len(test.shown) == 0 {
						return &tls.Certificate{}, nil
					}
					return &test.shown[0], nil
				},
			}
			if _, err := shake(t, certificates.Config(), client); (err == nil) != test.passes {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestFilesOfTLSThatMakeNoSense(t *testing.T) {
	dir := t.TempDir()
	certificate, key := issue(t, "router")
	_, otherKey := issue(t, "other")
	for name, test := range map[string]struct {
		certificate, key, authorities []byte
		want                          string
	}{
		"no file":                             {want: "no such file"},
		"a key of another certificate":        {certificate: certificate, key: otherKey, want: "private key does not match"},
		"authorities that are no certificate": {certificate: certificate, key: key, authorities: []byte("x"), want: "holds no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			files := serve.CertificateFiles{Certificate: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
			if test.certificate != nil {
				write(t, files.Certificate, test.certificate)
				write(t, files.Key, test.key)
			}
			if test.authorities != nil {
				files.ClientCA = filepath.Join(dir, name+".ca")
				write(t, files.ClientCA, test.authorities)
			}
			_, err := serve.NewCertificates(files, prometheus.NewRegistry(), logr.Discard())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
