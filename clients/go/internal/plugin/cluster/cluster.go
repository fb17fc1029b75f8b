// Package cluster owns the connection: which cluster and namespace the flags and the kubeconfig mean, and a client that knows the kinds.
package cluster

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Cluster is a connection.
type Cluster struct {
	// Config reaches the API server.
	Config *rest.Config
	// Client reads, writes and watches without a cache.
	Client client.WithWatch
	// Core reaches the subresources of Pods that are streams.
	Core corev1client.CoreV1Interface
	// Namespace is what --namespace says, else the kubeconfig.
	Namespace string
}

// Connect finds the cluster as kubectl does. Warnings of the API server go to the writer, each once.
func Connect(flags *genericclioptions.ConfigFlags, warnings io.Writer) (*Cluster, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("finding the namespace: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	// One user's commands are few, and the API server keeps order itself.
	config.QPS = -1
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	direct, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for Pods: %w", err)
	}
	return &Cluster{Config: config, Client: direct, Core: core, Namespace: namespace}, nil
}

// NewScheme knows Kubernetes' own kinds, Sandboxes, the kinds of the extensions, and usage.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme, metricsv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	return scheme, nil
}

// Finder finds objects of the namespace.
func (c *Cluster) Finder() target.Finder {
	return target.Finder{Reader: c.Client, Namespace: c.Namespace}
}
