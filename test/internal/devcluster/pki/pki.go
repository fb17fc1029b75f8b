package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority is a certificate authority: files Name.crt and Name.key.
type Authority struct {
	Name       string
	CommonName string
}

// Certificate is a certificate and its key: files Name.crt and Name.key.
type Certificate struct {
	Name string
	// Authority is the name of the authority that signs.
	Authority     string
	CommonName    string
	Organizations []string
	Usages        []x509.ExtKeyUsage
	DNSNames      []string
	IPs           []net.IP
}

// Set is all that Ensure makes.
type Set struct {
	Authorities  []Authority
	Certificates []Certificate
	// SigningKey is the name of a key pair without certificate, files
	// SigningKey.key and SigningKey.pub.
	SigningKey string
}

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	// renewBefore is how much life a certificate must have left to be kept.
	renewBefore = 30 * 24 * time.Hour
	// backdate allows for a clock that is set back a little.
	backdate = 5 * time.Minute
)

// Ensure makes what the directory lacks of the set. A certificate is made anew
// if it has less than 30 days left at now, does not fit its key or is not
// signed by its authority.
func Ensure(dir string, set Set, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the certificate directory: %w", err)
	}
	signers := map[string]*pair{}
	for _, a := range set.Authorities {
		p, err := ensurePair(dir, a.Name, authorityTemplate(a, now), nil, now)
		if err != nil {
			return fmt.Errorf("authority %s: %w", a.Name, err)
		}
		signers[a.Name] = p
	}
	for _, c := range set.Certificates {
		signer, found := signers[c.Authority]
		if !found {
			return fmt.Errorf("certificate %s: unknown authority %q", c.Name, c.Authority)
		}
		if _, err := ensurePair(dir, c.Name, certificateTemplate(c, now), signer, now); err != nil {
			return fmt.Errorf("certificate %s: %w", c.Name, err)
		}
	}
	return ensureSigningKey(dir, set.SigningKey)
}

func authorityTemplate(a Authority, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: a.CommonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

func certificateTemplate(c Certificate, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: c.CommonName, Organization: c.Organizations},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           c.Usages,
		DNSNames:              c.DNSNames,
		IPAddresses:           c.IPs,
		BasicConstraintsValid: true,
	}
}

// ensurePair returns the pair of that name, made anew if it is no longer good.
// A nil signer stands for the pair itself.
func ensurePair(dir, name string, template *x509.Certificate, signer *pair, now time.Time) (*pair, error) {
	path := filepath.Join(dir, name)
	if p, err := loadPair(path); err == nil && p.goodFor(template, signer, now) {
		return p, nil
	}
	p, err := newPair(template, signer)
	if err != nil {
		return nil, err
	}
	if err := p.save(path); err != nil {
		return nil, err
	}
	return p, nil
}
