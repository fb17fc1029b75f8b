package sighting

import (
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
)

// NewClient returns a client that takes up a watch again as soon as it can: it does not wait as long as an API server asks it to that
// is just starting, since what others do meanwhile is not seen.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	eager := rest.CopyConfig(config)
	eager.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	return await.NewClient(eager)
}

// impatient drops the request to come back later from answers.
type impatient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := i.next.RoundTrip(request)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
