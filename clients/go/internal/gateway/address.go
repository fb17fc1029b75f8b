package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// errNone says that a Gateway has published no address so far.
var errNone = errors.New("it has published no address yet")

// Gateway is what is read of one.
type Gateway struct {
	Spec struct {
		Listeners []Listener `json:"listeners"`
	} `json:"spec"`
	Status struct {
		Addresses []Address `json:"addresses"`
	} `json:"status"`
}

// Listener is a port of a Gateway.
type Listener struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

// Address is where a Gateway says that it is reached.
type Address struct {
	// Type is IPAddress if it is left out.
	Type  string `json:"type"`
	Value string `json:"value"`
}

// locate returns the URL of the first address, on the port of the first listener that speaks the scheme. Whoever may write the status of
// a Gateway decides where commands and files go: so that is refused which is no plain IP address or host name.
func locate(gateway Gateway, scheme string) (*url.URL, error) {
	if len(gateway.Status.Addresses) == 0 {
		return nil, errNone
	}
	host, err := hostOf(gateway.Status.Addresses[0])
	if err != nil {
		return nil, err
	}
	for _, listener := range gateway.Spec.Listeners {
		if strings.EqualFold(listener.Protocol, scheme) && len(validation.IsValidPortNum(listener.Port)) == 0 && listener.Port != wellKnown(scheme) {
			return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(listener.Port))}, nil
		}
		if strings.EqualFold(listener.Protocol, scheme) {
			break
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return &url.URL{Scheme: scheme, Host: host}, nil
}

func wellKnown(scheme string) int {
	const http, https = 80, 443
	if scheme == "https" {
		return https
	}
	return http
}

func hostOf(address Address) (string, error) {
	switch address.Type {
	case "", "IPAddress":
		return ipOf(address.Value)
	case "Hostname":
		return nameOf(address.Value)
	default:
		return "", fmt.Errorf("address %q is of type %q: give the Gateway an IPAddress or a Hostname, or set APIURL", address.Value, address.Type)
	}
}

func ipOf(value string) (string, error) {
	const want = "it has to be an IP address that is neither loopback, link-local, multicast nor unspecified"
	ip, err := netip.ParseAddr(value)
	if err != nil || ip.Zone() != "" {
		return "", fmt.Errorf("address %q: %s", value, want)
	}
	if plain := ip.Unmap(); plain.IsLoopback() || plain.IsUnspecified() || plain.IsMulticast() || plain.IsLinkLocalUnicast() {
		return "", fmt.Errorf("address %q: %s", value, want)
	}
	return ip.String(), nil
}

func nameOf(value string) (string, error) {
	// A name that ends in a number is an IP address to many resolvers: 0x7f.1 is 127.0.0.1.
	last := value[strings.LastIndex(value, ".")+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 || err == nil || strings.Trim(last, "0123456789") == "" {
		return "", fmt.Errorf("address %q: it has to be a host name of lower-case letters, digits, dots and dashes that does not end in a number", value)
	}
	if value == "localhost" || strings.HasSuffix(value, ".localhost") {
		return "", fmt.Errorf("address %q: a Gateway is not on this machine", value)
	}
	return value, nil
}
