package gateway

import (
	"errors"
	"strings"
	"testing"
)

func TestGatewayAddresses(t *testing.T) {
	http := []Listener{{Port: 80, Protocol: "HTTP"}}
	for name, test := range map[string]struct {
		address   Address
		listeners []Listener
		scheme    string
		want      string
	}{
		"an IPv4 address":                             {Address{Value: "203.0.113.7"}, http, "http", "http://203.0.113.7"},
		"an IPv6 address, in brackets":                {Address{Type: "IPAddress", Value: "2001:db8::7"}, http, "http", "http://[2001:db8::7]"},
		"an IPv6 address with a port":                 {Address{Value: "2001:db8::7"}, []Listener{{Port: 8080, Protocol: "HTTP"}}, "http", "http://[2001:db8::7]:8080"},
		"an address within the company":               {Address{Value: "10.0.0.7"}, nil, "http", "http://10.0.0.7"},
		"a host name":                                 {Address{Type: "Hostname", Value: "edge.example.com"}, http, "https", "https://edge.example.com"},
		"the port of the listener that speaks scheme": {Address{Value: "203.0.113.7"}, []Listener{{80, "HTTP"}, {8443, "HTTPS"}}, "https", "https://203.0.113.7:8443"},
		"a number that resolvers take for loopback":   {Address{Type: "Hostname", Value: "0x7f.1"}, nil, "http", ""},
		"the same as an address":                      {Address{Value: "0x7f.1"}, nil, "http", ""},
		"a decimal number":                            {Address{Type: "Hostname", Value: "2130706433"}, nil, "http", ""},
		"an address as a host name":                   {Address{Type: "Hostname", Value: "127.0.0.1"}, nil, "http", ""},
		"an octal address":                            {Address{Value: "0177.0.0.1"}, nil, "http", ""},
		"a URL with credentials":                      {Address{Type: "Hostname", Value: "me:secret@edge.example.com"}, nil, "http", ""},
		"a whole URL":                                 {Address{Type: "Hostname", Value: "http://edge.example.com"}, nil, "http", ""},
		"an address with a port":                      {Address{Value: "203.0.113.7:80"}, nil, "http", ""},
		"a host name with a path":                     {Address{Type: "Hostname", Value: "edge.example.com/x"}, nil, "http", ""},
		"this machine":                                {Address{Type: "Hostname", Value: "localhost"}, nil, "http", ""},
		"loopback":                                    {Address{Value: "127.0.0.1"}, nil, "http", ""},
		"loopback in IPv6":                            {Address{Value: "::1"}, nil, "http", ""},
		"loopback in IPv4 within IPv6":                {Address{Value: "::ffff:127.0.0.1"}, nil, "http", ""},
		"the metadata server":                         {Address{Value: "169.254.169.254"}, nil, "http", ""},
		"everywhere":                                  {Address{Value: "0.0.0.0"}, nil, "http", ""},
		"multicast":                                   {Address{Value: "224.0.0.1"}, nil, "http", ""},
		"an address with a zone":                      {Address{Value: "fe80::1%eth0"}, nil, "http", ""},
		"nothing":                                     {Address{Type: "Hostname"}, nil, "http", ""},
		"a type that is another's":                    {Address{Type: "example.com/Named", Value: "edge"}, nil, "http", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var gateway Gateway
			gateway.Spec.Listeners, gateway.Status.Addresses = test.listeners, []Address{test.address}
			located, err := locate(gateway, test.scheme)
			switch {
			case test.want == "":
				if err == nil || errors.Is(err, errNone) || !strings.Contains(err.Error(), "address") {
					t.Errorf("got %v, %v, want an error about the address", located, err)
				}
			case err != nil || located.String() != test.want:
				t.Errorf("got %v, %v, want %s", located, err, test.want)
			}
		})
	}
}

func TestAGatewayWithoutAnAddressIsAwaited(t *testing.T) {
	if _, err := locate(Gateway{}, "http"); !errors.Is(err, errNone) {
		t.Errorf("got %v, want %v", err, errNone)
	}
}
