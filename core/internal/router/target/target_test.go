package target_test

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

func box() types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: "box"}
}

func in(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// read has the rules read a request of that path with these headers, given as name, value, name, value.
func read(t *testing.T, rules target.Rules, path string, headers ...string) (target.Target, error) {
	t.Helper()
	to, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	request := &http.Request{URL: to, Header: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	return rules.Read(request)
}

func detailOf(err error) string {
	if malformed, ok := errors.AsType[*target.Malformed](err); ok {
		return malformed.Detail
	}
	return ""
}

// A6.4: an ID with dots is no sandbox's, and addresses that no Pod has lead nowhere.
func TestTargetsByHeaders(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, test := range map[string]struct {
		headers []string
		rules   target.Rules
		want    target.Target
		detail  string
	}{
		"an ID alone is enough": {
			headers: []string{target.HeaderID, "box"}, want: target.Target{Sandbox: box(), Port: 8888},
		},
		"every header counts": {
			headers: []string{
				target.HeaderID, "box", target.HeaderNamespace, "team-a", target.HeaderPort, "80",
				target.HeaderPodIP, "10.0.0.7", target.HeaderUID, "f0c1",
			},
			want: target.Target{Sandbox: in("team-a", "box"), Port: 80, PodIP: netip.MustParseAddr("10.0.0.7"), UID: "f0c1"},
		},
		"the highest port counts":        {headers: []string{target.HeaderID, "box", target.HeaderPort, "65535"}, want: target.Target{Sandbox: box(), Port: 65535}},
		"empty headers are as none":      {headers: []string{target.HeaderID, "box", target.HeaderNamespace, "", target.HeaderPort, "", target.HeaderPodIP, ""}, want: target.Target{Sandbox: box(), Port: 8888}},
		"a header may be said twice":     {headers: []string{target.HeaderID, "box", target.HeaderID, "box"}, want: target.Target{Sandbox: box(), Port: 8888}},
		"an IPv6 address is one":         {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "fd00::7"}, want: target.Target{Sandbox: box(), Port: 8888, PodIP: netip.MustParseAddr("fd00::7")}},
		"an IPv4 address may be mapped":  {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "::ffff:10.0.0.7"}, want: target.Target{Sandbox: box(), Port: 8888, PodIP: netip.MustParseAddr("10.0.0.7")}},
		"loopback passes where it may":   {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "127.0.0.1"}, rules: target.Rules{Loopback: target.AllowLoopback}, want: target.Target{Sandbox: box(), Port: 8888, PodIP: netip.MustParseAddr("127.0.0.1")}},
		"a UID of any length is dropped": {headers: []string{target.HeaderID, "box", target.HeaderUID, strings.Repeat("u", 200)}, want: target.Target{Sandbox: box(), Port: 8888}},

		"no ID":                          {detail: target.DetailNoID},
		"an empty ID":                    {headers: []string{target.HeaderID, ""}, detail: target.DetailNoID},
		"an ID with dots":                {headers: []string{target.HeaderID, "kubernetes.default"}, detail: target.DetailID},
		"an ID in capitals":              {headers: []string{target.HeaderID, "Box"}, detail: target.DetailID},
		"an ID that is too long":         {headers: []string{target.HeaderID, long}, detail: target.DetailID},
		"two IDs":                        {headers: []string{target.HeaderID, "box", target.HeaderID, "other"}, detail: target.DetailID},
		"a namespace with a slash":       {headers: []string{target.HeaderID, "box", target.HeaderNamespace, "a/b"}, detail: target.DetailNamespace},
		"two namespaces":                 {headers: []string{target.HeaderID, "box", target.HeaderNamespace, "a", target.HeaderNamespace, "b"}, detail: target.DetailNamespace},
		"port 0":                         {headers: []string{target.HeaderID, "box", target.HeaderPort, "0"}, detail: target.DetailPort},
		"a port beyond the last":         {headers: []string{target.HeaderID, "box", target.HeaderPort, "65536"}, detail: target.DetailPort},
		"a port with a sign":             {headers: []string{target.HeaderID, "box", target.HeaderPort, "+80"}, detail: target.DetailPort},
		"a port with a host":             {headers: []string{target.HeaderID, "box", target.HeaderPort, "80@evil"}, detail: target.DetailPort},
		"two ports":                      {headers: []string{target.HeaderID, "box", target.HeaderPort, "80", target.HeaderPort, "81"}, detail: target.DetailPort},
		"an address that is a name":      {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "metadata"}, detail: target.DetailAddress},
		"an address with a port":         {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "10.0.0.7:80"}, detail: target.DetailAddress},
		"an address in hexadecimal":      {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "0x7f.1"}, detail: target.DetailAddress},
		"the address of the metadata":    {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "169.254.169.254"}, detail: target.DetailAddress},
		"the address of this machine":    {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "127.0.0.1"}, detail: target.DetailAddress},
		"two addresses":                  {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "10.0.0.7", target.HeaderPodIP, "10.0.0.8"}, detail: target.DetailAddress},
		"a path, where none is read":     {headers: nil, detail: target.DetailNoID},
		"a link-local one with its link": {headers: []string{target.HeaderID, "box", target.HeaderPodIP, "fe80::1%eth0"}, detail: target.DetailAddress},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, test.rules, "/default/box/80/", test.headers...)
			if detail := detailOf(err); detail != test.detail {
				t.Errorf("answers %q, want %q", detail, test.detail)
			}
			if difference := cmp.Diff(test.want, got, cmpopts.EquateComparable(netip.Addr{})); difference != "" {
				t.Errorf("target (-want +got):\n%s", difference)
			}
		})
	}
}

// A6.4: what no Pod has, in every form it can be written in.
func TestAddressesOfPods(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.7": true, "192.0.2.1": true, "fd00::7": true, "2001:db8::1": true, "64:ff9b::a00:7": true,
		"0.0.0.0": false, "::": false, "127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "::a9fe:a9fe": false, "::7f00:1": false,
		"fe80::1": false, "fe80::1%eth0": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
	} {
		if got := target.CanBePod(netip.MustParseAddr(address), target.RefuseLoopback); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
	if target.CanBePod(netip.Addr{}, target.AllowLoopback) {
		t.Error("no address at all passed")
	}
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		if !target.CanBePod(netip.MustParseAddr(address), target.AllowLoopback) {
			t.Errorf("%s is refused though loopback is allowed", address)
		}
	}
}

func TestTargetsByPath(t *testing.T) {
	rules := target.Rules{PathPrefix: "/sandboxes"}
	for name, test := range map[string]struct {
		path   string
		want   target.Target
		rest   string
		detail string
	}{
		"all of it":                        {path: "/sandboxes/team-a/box/80/a/b", want: target.Target{Sandbox: in("team-a", "box"), Port: 80, Base: "/sandboxes/team-a/box/80"}, rest: "/a/b"},
		"nothing behind the port":          {path: "/sandboxes/team-a/box/80", want: target.Target{Sandbox: in("team-a", "box"), Port: 80, Base: "/sandboxes/team-a/box/80"}, rest: "/"},
		"a slash behind the port":          {path: "/sandboxes/team-a/box/80/", want: target.Target{Sandbox: in("team-a", "box"), Port: 80, Base: "/sandboxes/team-a/box/80"}, rest: "/"},
		"an escaped slash is kept":         {path: "/sandboxes/team-a/box/80/a%2Fb", want: target.Target{Sandbox: in("team-a", "box"), Port: 80, Base: "/sandboxes/team-a/box/80"}, rest: "/a%2Fb"},
		"another path goes by its headers": {path: "/sandboxes-of-mine/x", want: target.Target{Sandbox: box(), Port: 8888}, rest: "/sandboxes-of-mine/x"},

		"no port":                 {path: "/sandboxes/team-a/box", detail: target.DetailPath},
		"the prefix alone":        {path: "/sandboxes", detail: target.DetailPath},
		"a port that is none":     {path: "/sandboxes/team-a/box/http/x", detail: target.DetailPort},
		"an ID with dots":         {path: "/sandboxes/team-a/a.b/80/x", detail: target.DetailID},
		"an escaped namespace":    {path: "/sandboxes/team%2Da/box/80/x", detail: target.DetailNamespace},
		"an empty namespace":      {path: "/sandboxes//box/80/x", detail: target.DetailNamespace},
		"dots in place of a name": {path: "/sandboxes/../box/80/x", detail: target.DetailNamespace},
	} {
		t.Run(name, func(t *testing.T) {
			// The headers name another sandbox: a malformed path never falls back to them.
			got, err := read(t, rules, test.path, target.HeaderID, "box")
			if detail := detailOf(err); detail != test.detail {
				t.Fatalf("answers %q, want %q", detail, test.detail)
			}
			if difference := cmp.Diff(test.want, got, cmpopts.EquateComparable(netip.Addr{})); difference != "" {
				t.Errorf("target (-want +got):\n%s", difference)
			}
			if rest := got.Rest(test.path); err == nil && rest != test.rest {
				t.Errorf("the sandbox sees %q, want %q", rest, test.rest)
			}
		})
	}
}
