package devcluster

import (
	"crypto/tls"
	"testing"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/pki"
)

func TestTheCertificateIsShownOnlyWhereItIsKnown(t *testing.T) {
	l := layout{dir: t.TempDir()}
	if err := pki.Ensure(l.path(pkiDir), certificates(), time.Now()); err != nil {
		t.Fatal(err)
	}
	load := func(name string) *tls.Certificate {
		pair, err := tls.LoadX509KeyPair(l.cert(name), l.key(name))
		if err != nil {
			t.Fatal(err)
		}
		return &pair
	}
	choose := onlyWhereKnown(load(etcdClient))
	cases := []struct {
		name        string
		authorities [][]byte
		want        bool
	}{
		{"a server that names etcd's authority", [][]byte{load(etcdCA).Leaf.RawSubject}, true},
		{"a server that names another", [][]byte{load(clusterCA).Leaf.RawSubject}, false},
		{"a server that names none", nil, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(&tls.CertificateRequestInfo{
				AcceptableCAs:    c.authorities,
				SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
				Version:          tls.VersionTLS13,
			})
			if err != nil || (len(got.Certificate) > 0) != c.want {
				t.Errorf("shown: %t, %v; want %t", len(got.Certificate) > 0, err, c.want)
			}
		})
	}
}
