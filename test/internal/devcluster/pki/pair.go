package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// pair is a certificate with its private key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newPair(template *x509.Certificate, signer *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	parent, parentKey := template, key
	if signer != nil {
		parent, parentKey = signer.cert, signer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back what was signed: %w", err)
	}
	return &pair{cert: cert, key: key}, nil
}

func loadPair(path string) (*pair, error) {
	both, err := tls.LoadX509KeyPair(path+".crt", path+".key")
	if err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	key, isECDSA := both.PrivateKey.(*ecdsa.PrivateKey)
	if !isECDSA {
		return nil, fmt.Errorf("loading %s.key: not an ECDSA key", path)
	}
	return &pair{cert: both.Leaf, key: key}, nil
}

// goodFor says whether the pair can stand for one newly made from the template.
func (p *pair) goodFor(template *x509.Certificate, signer *pair, now time.Time) bool {
	if signer == nil {
		signer = p
	}
	return now.Add(renewBefore).Before(p.cert.NotAfter) &&
		p.cert.CheckSignatureFrom(signer.cert) == nil &&
		p.cert.Subject.String() == template.Subject.String() &&
		slices.Equal(p.cert.ExtKeyUsage, template.ExtKeyUsage) &&
		slices.Equal(p.cert.DNSNames, template.DNSNames) &&
		slices.EqualFunc(p.cert.IPAddresses, template.IPAddresses, net.IP.Equal)
}

func (p *pair) save(path string) error {
	if err := writeKey(path+".key", p.key); err != nil {
		return err
	}
	return writePEM(path+".crt", "CERTIFICATE", p.cert.Raw)
}

func ensureSigningKey(dir, name string) error {
	private, public := filepath.Join(dir, name+".key"), filepath.Join(dir, name+".pub")
	if exists(private) && exists(public) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating signing key %s: %w", name, err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding signing key %s: %w", name, err)
	}
	if err := writeKey(private, key); err != nil {
		return err
	}
	return writePEM(public, "PUBLIC KEY", der)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

// writePEM puts the file in place as a whole: a reader sees the old or the new.
func writePEM(path, kind string, der []byte) error {
	temporary := path + ".tmp"
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("putting %s in place: %w", path, err)
	}
	return nil
}
