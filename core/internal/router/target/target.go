package target

import (
	"net/http"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Headers that say which sandbox a request is for.
const (
	// HeaderID names the Sandbox; required.
	HeaderID = "X-Sandbox-ID"
	// HeaderNamespace is that of the Sandbox; DefaultNamespace without it.
	HeaderNamespace = "X-Sandbox-Namespace"
	// HeaderPort is where its Pod listens; DefaultPort without it.
	HeaderPort = "X-Sandbox-Port"
	// HeaderPodIP is an address of its Pod.
	HeaderPodIP = "X-Sandbox-Pod-IP"
	// HeaderUID is the UID of the Sandbox.
	HeaderUID = "X-Sandbox-UID"
)

const (
	// DefaultNamespace is the namespace of a request that names none.
	DefaultNamespace = "default"
	// DefaultPort is the port of a request that names none.
	DefaultPort = 8888
)

// What a malformed request is told. Clients match these texts.
const (
	DetailNoID      = "X-Sandbox-ID header is required."
	DetailID        = "Invalid sandbox ID format."
	DetailNamespace = "Invalid namespace format."
	DetailPort      = "Invalid port format."
	DetailAddress   = "Invalid target IP address."
	DetailPath      = "Invalid sandbox path."
)

// longestUID is what a UID has at most; those of Kubernetes have 36 characters.
const longestUID = 128

// Malformed is a request that names no sandbox.
type Malformed struct {
	// Detail is what its client is told: one of the texts above.
	Detail string
}

// Error is the detail.
func (m *Malformed) Error() string { return m.Detail }

// Target is where a request is to go, as far as the request says.
type Target struct {
	Sandbox types.NamespacedName
	// Port is 1 to 65535.
	Port uint16
	// PodIP is an address that the client knows of; the zero address without one.
	PodIP netip.Addr
	// UID is empty without one.
	UID types.UID
	// Base is the part of the escaped path that named the sandbox and that the sandbox does not see; empty when the headers did.
	Base string
}

// Rules say how requests are read.
type Rules struct {
	// PathPrefix begins the paths that name a sandbox: PathPrefix/<namespace>/<id>/<port>/<rest>; empty: headers alone do.
	PathPrefix string
	// Loopback says whether a sandbox may be on the machine of the router.
	Loopback Loopback
}

// Read returns the target of a request. The error is a *Malformed.
func (r Rules) Read(request *http.Request) (Target, error) {
	path := request.URL.EscapedPath()
	if r.isPathForm(path) {
		return r.readPath(path)
	}
	return r.readHeaders(request.Header)
}

// Names says whether a request names a sandbox in either way, well or badly.
func (r Rules) Names(request *http.Request) bool {
	return len(request.Header.Values(HeaderID)) > 0 || r.isPathForm(request.URL.EscapedPath())
}

func (r Rules) readHeaders(header http.Header) (Target, error) {
	id, ok := single(header, HeaderID)
	if ok && id == "" {
		return Target{}, &Malformed{DetailNoID}
	}
	if !ok || !isLabel(id) {
		return Target{}, &Malformed{DetailID}
	}
	namespace, ok := single(header, HeaderNamespace)
	if namespace == "" {
		namespace = DefaultNamespace
	}
	if !ok || !isLabel(namespace) {
		return Target{}, &Malformed{DetailNamespace}
	}
	found := Target{Sandbox: types.NamespacedName{Namespace: namespace, Name: id}, Port: DefaultPort}
	port, ok := single(header, HeaderPort)
	if ok && port != "" {
		found.Port, ok = parsePort(port)
	}
	if !ok {
		return Target{}, &Malformed{DetailPort}
	}
	address, ok := single(header, HeaderPodIP)
	if ok && address != "" {
		found.PodIP, ok = r.parseAddress(address)
	}
	if !ok {
		return Target{}, &Malformed{DetailAddress}
	}
	// A UID only ever finds what is known by it, so one that makes no sense finds nothing.
	if uid, ok := single(header, HeaderUID); ok && len(uid) <= longestUID {
		found.UID = types.UID(uid)
	}
	return found, nil
}

// single returns the value of a header that is there once at most. A header that says two things could be read one way here and another
// way elsewhere.
func single(header http.Header, name string) (value string, ok bool) {
	values := header.Values(name)
	for _, other := range values {
		if other != values[0] {
			return "", false
		}
	}
	if len(values) == 0 {
		return "", true
	}
	return values[0], true
}

func isLabel(value string) bool { return len(validation.IsDNS1123Label(value)) == 0 }

// parsePort takes digits alone, without a sign or zeros before them.
func parsePort(value string) (uint16, bool) {
	const decimal, bits = 10, 16
	if value == "" || value[0] < '1' || value[0] > '9' {
		return 0, false
	}
	port, err := strconv.ParseUint(value, decimal, bits)
	return uint16(port), err == nil
}

func (r Rules) parseAddress(value string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(value)
	if err != nil {
		return netip.Addr{}, false
	}
	return address.Unmap(), CanBePod(address, r.Loopback)
}
