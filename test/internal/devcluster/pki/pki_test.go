package pki

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func testSet() Set {
	return Set{
		SigningKey:  "sa",
		Authorities: []Authority{{Name: "ca", CommonName: "test-ca"}},
		Certificates: []Certificate{
			{
				Name: "server", Authority: "ca", CommonName: "server",
				Usages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
				DNSNames: []string{"localhost"}, IPs: []net.IP{net.ParseIP("127.0.0.1")},
			},
			{
				Name: "admin", Authority: "ca", CommonName: "admin", Organizations: []string{"masters"},
				Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			},
		},
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(data)
	}
	return files
}

func changed(before, after map[string]string) []string {
	names := []string{}
	for _, name := range []string{"admin.crt", "admin.key", "ca.crt", "ca.key", "sa.key", "sa.pub", "server.crt", "server.key"} {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

func TestEnsureKeepsWhatIsGood(t *testing.T) {
	now := time.Now()
	all := []string{"admin.crt", "admin.key", "ca.crt", "ca.key", "server.crt", "server.key"}
	admin := []string{"admin.crt", "admin.key"}
	cases := []struct {
		name   string
		damage func(dir string, set *Set) error
		later  time.Duration
		want   []string
	}{
		{"nothing is wrong", func(string, *Set) error { return nil }, 0, []string{}},
		{"certificates expire", func(string, *Set) error { return nil }, 340 * 24 * time.Hour, append(admin, "server.crt", "server.key")},
		{"a key is lost", func(dir string, _ *Set) error { return os.Remove(filepath.Join(dir, "admin.key")) }, 0, admin},
		{"a certificate is cut off", func(dir string, _ *Set) error {
			return os.Truncate(filepath.Join(dir, "admin.crt"), 100)
		}, 0, admin},
		{"a subject changes", func(_ string, set *Set) error {
			set.Certificates[1].Organizations = nil
			return nil
		}, 0, admin},
		{"the authority is lost", func(dir string, _ *Set) error { return os.Remove(filepath.Join(dir, "ca.crt")) }, 0, all},
		{"the signing key is lost", func(dir string, _ *Set) error {
			return os.Remove(filepath.Join(dir, "sa.pub"))
		}, 0, []string{"sa.key", "sa.pub"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, set := filepath.Join(t.TempDir(), "pki"), testSet()
			if err := Ensure(dir, set, now); err != nil {
				t.Fatal(err)
			}
			before := contents(t, dir)
			if err := c.damage(dir, &set); err != nil {
				t.Fatal(err)
			}
			if err := Ensure(dir, set, now.Add(c.later)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, changed(before, contents(t, dir))); diff != "" {
				t.Errorf("files made anew (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCertificatesAreWhatTheyClaim(t *testing.T) {
	dir := t.TempDir()
	if err := Ensure(dir, testSet(), time.Now()); err != nil {
		t.Fatal(err)
	}
	ca, err := loadPair(filepath.Join(dir, "ca"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	cases := []struct {
		name, file, host string
		usage            x509.ExtKeyUsage
		good             bool
	}{
		{"a server by its address", "server", "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{"a server by its name", "server", "localhost", x509.ExtKeyUsageServerAuth, true},
		{"a server by another name", "server", "example.org", x509.ExtKeyUsageServerAuth, false},
		{"a server as a client", "server", "", x509.ExtKeyUsageClientAuth, false},
		{"a client", "admin", "", x509.ExtKeyUsageClientAuth, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := loadPair(filepath.Join(dir, c.file))
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.host, KeyUsages: []x509.ExtKeyUsage{c.usage}})
			if (err == nil) != c.good {
				t.Errorf("Verify = %v, want good: %t", err, c.good)
			}
		})
	}
}

func TestKeysAreForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if err := Ensure(dir, testSet(), time.Now()); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(keys) != 4 {
		t.Fatalf("keys = %v, %v; want 4", keys, err)
	}
	for _, key := range keys {
		info, err := os.Stat(key)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", key, info.Mode())
		}
	}
}

func TestEnsureRefusesAnUnknownAuthority(t *testing.T) {
	set := testSet()
	set.Certificates[0].Authority = "none"
	if err := Ensure(t.TempDir(), set, time.Now()); err == nil {
		t.Error("Ensure = nil, want an error")
	}
}

func TestAKubeconfigHoldsAllItNeeds(t *testing.T) {
	dir := t.TempDir()
	if err := Ensure(dir, testSet(), time.Now()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := WriteKubeconfig(path, "c", "https://127.0.0.1:1", dir, "ca", "admin"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("incomplete: %v", config)
	}
}
