package images

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// explain says in one line what went wrong with a push, and what to do. It keeps the part of the error that
// decides: the rest are addresses of single requests, and whole pages that a registry answered.
func explain(reference name.Tag, err error) error {
	var certificate *tls.CertificateVerificationError
	var answer *transport.Error
	var network *net.OpError
	registry := reference.RegistryStr()
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("pushing %s: interrupted, and may be repeated: %w", reference, context.Canceled)
	case errors.As(err, &certificate):
		return fmt.Errorf("pushing %s: the certificate of %s is not trusted: add its authority to the system's, or name the authority's file in SSL_CERT_FILE: %w", reference, registry, certificate)
	// Before the scheme: at localhost both schemes are tried, and the answer comes from the right one.
	case errors.As(err, &answer):
		return fmt.Errorf("pushing %s: %s answers %d %s%s: %s", reference, registry, answer.StatusCode, http.StatusText(answer.StatusCode), codes(answer), remedy(answer.StatusCode, registry))
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("pushing %s: %s speaks plain http, which only localhost and private addresses may: give it a certificate, or reach it by localhost: %w", reference, registry, http.ErrSchemeMismatch)
	case errors.As(err, &network):
		return fmt.Errorf("pushing %s: no registry answers at %s: check the address, and that it runs: %w", reference, registry, network)
	}
	return fmt.Errorf("pushing %s: %w", reference, err)
}

func codes(answer *transport.Error) string {
	var list string
	for _, diagnostic := range answer.Errors {
		list += " " + string(diagnostic.Code)
	}
	return list
}

func remedy(status int, registry string) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "log in with docker login " + registry + " or podman login " + registry + ", as someone who may push there"
	case http.StatusNotFound:
		return "check the path, and create the repository there if the registry does not do so itself"
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "try again later"
	}
	return "look into the log of the registry"
}
