package claims

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// ClaimClient, SandboxClient and EndpointClient are the typed clients of one namespace.
type (
	// ClaimClient reads and writes SandboxClaims.
	ClaimClient = gentype.ClientWithList[*extensionsv1beta1.SandboxClaim, *extensionsv1beta1.SandboxClaimList]
	// SandboxClient reads and writes Sandboxes.
	SandboxClient = gentype.ClientWithList[*sandboxv1beta1.Sandbox, *sandboxv1beta1.SandboxList]
	// EndpointClient reads EndpointSlices.
	EndpointClient = gentype.ClientWithList[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
)

// Cluster reaches the API server. It is safe for concurrent use.
type Cluster struct {
	extensions, core, discovery rest.Interface
	parameters                  runtime.ParameterCodec
}

// New returns a Cluster that is reached by config.
func New(config *rest.Config) (*Cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{extensionsv1beta1.AddToScheme, sandboxv1beta1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("preparing the client: %w", err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the client: %w", err)
	}
	c := &Cluster{parameters: runtime.NewParameterCodec(scheme)}
	for version, into := range map[schema.GroupVersion]*rest.Interface{
		extensionsv1beta1.GroupVersion: &c.extensions, sandboxv1beta1.GroupVersion: &c.core, discoveryv1.SchemeGroupVersion: &c.discovery,
	} {
		versioned := rest.CopyConfig(config)
		versioned.APIPath, versioned.GroupVersion = "/apis", &version
		versioned.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientForConfigAndClient(versioned, httpClient)
		if err != nil {
			return nil, fmt.Errorf("preparing the client of %s: %w", version, err)
		}
		*into = client
	}
	return c, nil
}

// Claims returns the client of the claims of a namespace.
func (c *Cluster) Claims(namespace string) *ClaimClient {
	return gentype.NewClientWithList[*extensionsv1beta1.SandboxClaim, *extensionsv1beta1.SandboxClaimList](
		"sandboxclaims", c.extensions, c.parameters, namespace,
		func() *extensionsv1beta1.SandboxClaim { return &extensionsv1beta1.SandboxClaim{} },
		func() *extensionsv1beta1.SandboxClaimList { return &extensionsv1beta1.SandboxClaimList{} })
}

// Sandboxes returns the client of the Sandboxes of a namespace.
func (c *Cluster) Sandboxes(namespace string) *SandboxClient {
	return gentype.NewClientWithList[*sandboxv1beta1.Sandbox, *sandboxv1beta1.SandboxList](
		"sandboxes", c.core, c.parameters, namespace,
		func() *sandboxv1beta1.Sandbox { return &sandboxv1beta1.Sandbox{} },
		func() *sandboxv1beta1.SandboxList { return &sandboxv1beta1.SandboxList{} })
}

// Endpoints returns the client of the EndpointSlices of a namespace.
func (c *Cluster) Endpoints(namespace string) *EndpointClient {
	return gentype.NewClientWithList[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList](
		"endpointslices", c.discovery, c.parameters, namespace,
		func() *discoveryv1.EndpointSlice { return &discoveryv1.EndpointSlice{} },
		func() *discoveryv1.EndpointSliceList { return &discoveryv1.EndpointSliceList{} })
}
