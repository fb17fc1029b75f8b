package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/claims"
)

// ErrDeleted says that the Gateway was deleted while its address was awaited.
var ErrDeleted = errors.New("the Gateway was deleted")

// Await returns the URL at which a Gateway is reached, once it has published its address. An address that cannot be trusted is an error
// at once.
func Await(ctx context.Context, config *rest.Config, namespace, name, scheme string) (*url.URL, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the client of Gateways: %w", err)
	}
	gateways := source{client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}).Namespace(namespace)}
	seen, err := gateways.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading Gateway %s/%s: %w", namespace, name, err)
	}
	var found *url.URL
	_, err = claims.Await(ctx, gateways, seen, func(object *unstructured.Unstructured) (bool, error) {
		found, err = read(object, scheme)
		if errors.Is(err, errNone) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case errors.Is(err, claims.ErrDeleted):
		return nil, fmt.Errorf("%w: %s/%s", ErrDeleted, namespace, name)
	case err != nil:
		return nil, fmt.Errorf("finding the address of Gateway %s/%s: %w", namespace, name, err)
	}
	return found, nil
}

func read(object *unstructured.Unstructured, scheme string) (*url.URL, error) {
	var gateway Gateway
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &gateway); err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return locate(gateway, scheme)
}

// source fits the dynamic client to what Await follows.
type source struct{ dynamic.ResourceInterface }

// Get reads a Gateway.
func (s source) Get(ctx context.Context, name string, options metav1.GetOptions) (*unstructured.Unstructured, error) {
	return s.ResourceInterface.Get(ctx, name, options)
}

// Watch follows Gateways.
func (s source) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.ResourceInterface.Watch(ctx, options)
}
