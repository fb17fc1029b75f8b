package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

type otherTransport struct{ http.RoundTripper }

func TestOptionsThatCannotBeUsedAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		options sandbox.Options
		// want is in the error: the field and its value.
		want string
	}{
		"a namespace that is none":           {sandbox.Options{Namespace: "Team"}, `Namespace "Team"`},
		"a pool that is none":                {sandbox.Options{WarmPoolName: "a/b"}, `WarmPoolName "a/b"`},
		"a runtime that is unknown":          {sandbox.Options{Runtime: "python"}, `Runtime "python"`},
		"a way that is unknown":              {sandbox.Options{Connectivity: "magic"}, `Connectivity "magic"`},
		"a port out of bounds":               {sandbox.Options{ServerPort: 70000}, "ServerPort 70000"},
		"a direct way without a URL":         {sandbox.Options{Connectivity: sandbox.ConnectivityDirect}, `APIURL ""`},
		"a URL of another scheme":            {sandbox.Options{APIURL: "ftp://host"}, `APIURL "ftp://host"`},
		"a URL with a user, without telling": {sandbox.Options{APIURL: "http://me:s3cret@host"}, `APIURL "http://me:xxxxx@host"`},
		"a path where gRPC knows none":       {sandbox.Options{APIURL: "http://host/path", Runtime: sandbox.RuntimeSandboxd}, `APIURL "http://host/path"`},
		"a Gateway without a name":           {sandbox.Options{Connectivity: sandbox.ConnectivityGateway}, `GatewayName ""`},
		"a scheme of Gateways that is none":  {sandbox.Options{GatewayName: "edge", GatewayScheme: "tcp"}, `GatewayScheme "tcp"`},
		"a time limit below zero":            {sandbox.Options{RequestTimeout: -time.Second}, "RequestTimeout -1s"},
		"a size below zero":                  {sandbox.Options{MaxDownloadSize: -1}, "MaxDownloadSize -1"},
		"a transport that carries no gRPC":   {sandbox.Options{HTTPTransport: otherTransport{}, Runtime: sandbox.RuntimeSandboxd}, "HTTPTransport sandbox_test.otherTransport"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.RESTConfig = &rest.Config{Host: "http://127.0.0.1:1"}
			_, err := sandbox.NewClient(t.Context(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want an error with %s", err, test.want)
			}
		})
	}
}
