package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// validate returns an error for each field of completed options that cannot be used.
func (o Options) validate() error {
	return errors.Join(o.validateNames(), o.validateRuntime(), o.validateWay(), o.validateLimits())
}

func (o Options) validateNames() error {
	errs := []error{
		nameError("Namespace", o.Namespace, validation.IsDNS1123Label),
		nameError("GatewayNamespace", o.GatewayNamespace, validation.IsDNS1123Label),
		nameError("RouterNamespace", o.RouterNamespace, validation.IsDNS1123Label),
	}
	if o.WarmPoolName != "" {
		errs = append(errs, nameError("WarmPoolName", o.WarmPoolName, validation.IsDNS1123Subdomain))
	}
	return errors.Join(errs...)
}

func nameError(field, value string, check func(string) []string) error {
	if problems := check(value); len(problems) > 0 {
		return fmt.Errorf("options: %s %q: %s", field, value, strings.Join(problems, "; "))
	}
	return nil
}

func (o Options) validateRuntime() error {
	var errs []error
	switch o.Runtime {
	case RuntimeLegacy:
	case RuntimeSandboxd:
		if _, usable := o.HTTPTransport.(*http.Transport); o.HTTPTransport != nil && !usable {
			errs = append(errs, fmt.Errorf("options: HTTPTransport %T: it cannot carry the gRPC of the runtime sandboxd; use a *http.Transport", o.HTTPTransport))
		}
	default:
		errs = append(errs, fmt.Errorf("options: Runtime %q: use %q or %q", o.Runtime, RuntimeLegacy, RuntimeSandboxd))
	}
	for field, port := range map[string]int{
		"ServerPort": o.ServerPort, "SandboxdRESTPort": o.SandboxdRESTPort, "SandboxdGRPCPort": o.SandboxdGRPCPort,
	} {
		if problems := validation.IsValidPortNum(port); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("options: %s %d: %s", field, port, strings.Join(problems, "; ")))
		}
	}
	return errors.Join(errs...)
}

func (o Options) validateWay() error {
	switch o.Connectivity {
	case ConnectivityDirect:
		return o.validateURL()
	case ConnectivityGateway:
		return errors.Join(nameError("GatewayName", o.GatewayName, validation.IsDNS1123Subdomain), o.validateScheme())
	case ConnectivityPortForward, ConnectivityPodTunnel, ConnectivityInCluster:
		return nil
	default:
		return fmt.Errorf("options: Connectivity %q: use %q, %q, %q, %q, %q, or leave it out", o.Connectivity, ConnectivityDirect, ConnectivityGateway,
			ConnectivityPortForward, ConnectivityPodTunnel, ConnectivityInCluster)
	}
}

func (o Options) validateScheme() error {
	if o.GatewayScheme != "http" && o.GatewayScheme != "https" {
		return fmt.Errorf("options: GatewayScheme %q: use \"http\" or \"https\"", o.GatewayScheme)
	}
	return nil
}

func (o Options) validateURL() error {
	const want = "use http://host:port or https://host, without a user, query or fragment"
	parsed, err := url.Parse(o.APIURL)
	switch {
	case err != nil:
		// The error would repeat a password that the URL may hold.
		return fmt.Errorf("options: APIURL: it is no URL; %s", want)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Host == "", parsed.User != nil, parsed.RawQuery != "", parsed.Fragment != "":
		return fmt.Errorf("options: APIURL %q: %s", parsed.Redacted(), want)
	case o.Runtime == RuntimeSandboxd && strings.Trim(parsed.Path, "/") != "":
		return fmt.Errorf("options: APIURL %q: gRPC of the runtime sandboxd knows no path in front; use a URL without one", parsed.Redacted())
	}
	return nil
}

func (o Options) validateLimits() error {
	var errs []error
	for field, limit := range map[string]time.Duration{
		"SandboxReadyTimeout": o.SandboxReadyTimeout, "GatewayReadyTimeout": o.GatewayReadyTimeout, "PortForwardReadyTimeout": o.PortForwardReadyTimeout,
		"CleanupTimeout": o.CleanupTimeout, "RequestTimeout": o.RequestTimeout, "PerAttemptTimeout": o.PerAttemptTimeout,
	} {
		if limit < 0 {
			errs = append(errs, fmt.Errorf("options: %s %s: use a positive duration, or 0 for the default", field, limit))
		}
	}
	for field, limit := range map[string]int64{"MaxUploadSize": o.MaxUploadSize, "MaxDownloadSize": o.MaxDownloadSize} {
		if limit < 0 {
			errs = append(errs, fmt.Errorf("options: %s %d: use a positive number of bytes, or 0 for the default", field, limit))
		}
	}
	return errors.Join(errs...)
}
