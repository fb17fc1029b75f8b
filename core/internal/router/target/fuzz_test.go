package target_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// FuzzHeaders: whatever headers say, the target is one that a Pod can be at, or there is none and the client is told why.
func FuzzHeaders(f *testing.F) {
	f.Add("box", "default", "8888", "10.0.0.7", "")
	f.Add("a.b", "kube-system", "0", "169.254.169.254", "f0c1")
	f.Add("", "", "65536", "::ffff:127.0.0.1", "u")
	f.Add("box\r\nHost: evil", "a/b", "80@evil", "0x7f.1", "\x00")
	f.Add("box", "default", "443", "64:ff9b::a9fe:a9fe", "")
	f.Fuzz(func(t *testing.T, id, namespace, port, address, uid string) {
		header := http.Header{}
		for name, value := range map[string]string{
			target.HeaderID: id, target.HeaderNamespace: namespace, target.HeaderPort: port, target.HeaderPodIP: address, target.HeaderUID: uid,
		} {
			header.Set(name, value)
		}
		got, err := target.Rules{}.Read(&http.Request{URL: &url.URL{Path: "/"}, Header: header})
		if err != nil {
			if detailOf(err) == "" {
				t.Fatalf("not a malformed request but %v", err)
			}
			return
		}
		check(t, got)
	})
}

// FuzzPath: whatever a path says below the prefix, it names a sandbox or is refused, and never goes by the headers.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"/team-a/box/80/a%2Fb", "/team-a/box/80", "//box/80/", "/../../box/80/x", "/a/b/80/../../c", "/a/b/%38/", ""} {
		f.Add(path)
	}
	const prefix = "/sandboxes"
	rules := target.Rules{PathPrefix: prefix}
	f.Fuzz(func(t *testing.T, path string) {
		to, err := url.ParseRequestURI(prefix + "/" + path)
		if err != nil {
			t.Skip("no path of a request")
		}
		got, err := rules.Read(&http.Request{URL: to, Header: http.Header{target.HeaderID: {"elsewhere"}}})
		if err != nil {
			if detailOf(err) == "" {
				t.Fatalf("not a malformed request but %v", err)
			}
			return
		}
		check(t, got)
		if !strings.HasPrefix(to.EscapedPath(), got.Base) || !strings.HasPrefix(got.Base, prefix+"/") || !strings.HasPrefix(got.Rest(to.EscapedPath()), "/") {
			t.Errorf("%q leads to %+v", path, got)
		}
	})
}

func check(t *testing.T, got target.Target) {
	t.Helper()
	if problems := append(validation.IsDNS1123Label(got.Sandbox.Name), validation.IsDNS1123Label(got.Sandbox.Namespace)...); len(problems) > 0 {
		t.Errorf("%s: %v", got.Sandbox, problems)
	}
	if got.Port == 0 {
		t.Error("port 0 passed")
	}
	none := netip.Addr{}
	if address := got.PodIP; address != none && (!target.CanBePod(address, target.RefuseLoopback) || address.IsLoopback() || address.IsLinkLocalUnicast()) {
		t.Errorf("address %s passed", address)
	}
}
