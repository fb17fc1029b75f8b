package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// What our kinds are called in paths.
const (
	sandboxResource  = "sandboxes"
	claimResource    = "sandboxclaims"
	poolResource     = "sandboxwarmpools"
	templateResource = "sandboxtemplates"
)

// clients are as frugal as a plain client can be: no limit of their own, and protobuf where it is spoken.
type clients struct {
	kubernetes kubernetes.Interface
	sandboxes  rest.Interface
	extensions rest.Interface
	// owned is for Sandboxes as the extensions make them, whose marks no user may set.
	owned rest.Interface
}

// trusted acts as a controller of ours that is none of those measured: with every right, and counted as a client.
func trusted(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: install.UserOf("agent-sandbox-bench-controller"), Groups: []string{"system:masters"},
	}
	return config
}

func newClients(config *rest.Config) (clients, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "agent-sandbox-bench"
	builtin := rest.CopyConfig(config)
	builtin.ContentType = runtime.ContentTypeProtobuf
	builtin.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	clientset, err := kubernetes.NewForConfig(builtin)
	if err != nil {
		return clients{}, fmt.Errorf("creating a client: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return clients{}, fmt.Errorf("registering our kinds: %w", err)
		}
	}
	c := clients{kubernetes: clientset}
	for version, client := range map[schema.GroupVersion]*rest.Interface{
		sandboxv1beta1.GroupVersion: &c.sandboxes, extensionsv1beta1.GroupVersion: &c.extensions,
	} {
		if *client, err = newClient(config, scheme, version); err != nil {
			return clients{}, err
		}
	}
	c.owned, err = newClient(trusted(config), scheme, sandboxv1beta1.GroupVersion)
	return c, err
}

func newClient(config *rest.Config, scheme *runtime.Scheme, version schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", version, err)
	}
	return client, nil
}

func (c clients) create(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	return createBy(ctx, c.sandboxes, sandbox)
}

// createOwned is create for a Sandbox of a pool or claim.
func (c clients) createOwned(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	return createBy(ctx, c.owned, sandbox)
}

func createBy(ctx context.Context, client rest.Interface, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	created := &sandboxv1beta1.Sandbox{}
	err := client.Post().Namespace(namespace).Resource(sandboxResource).Body(sandbox).Do(ctx).Into(created)
	if err != nil {
		return nil, fmt.Errorf("creating Sandbox %q: %w", sandbox.Name, err)
	}
	return created, nil
}

func (c clients) postClaim(ctx context.Context, name, pool string) (*extensionsv1beta1.SandboxClaim, error) {
	created := &extensionsv1beta1.SandboxClaim{}
	err := c.extensions.Post().Namespace(namespace).Resource(claimResource).Body(desiredClaim(name, pool)).Do(ctx).Into(created)
	if err != nil {
		return nil, fmt.Errorf("creating claim %q: %w", name, err)
	}
	return created, nil
}

// createPools makes the template, and pools of so many members each.
func (c clients) createPools(ctx context.Context, names []string, replicas int) ([]*extensionsv1beta1.SandboxWarmPool, error) {
	if err := c.extensions.Post().Namespace(namespace).Resource(templateResource).Body(desiredTemplate()).Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("creating a SandboxTemplate: %w", err)
	}
	var pools []*extensionsv1beta1.SandboxWarmPool
	for _, name := range names {
		pool := &extensionsv1beta1.SandboxWarmPool{}
		if err := c.extensions.Post().Namespace(namespace).Resource(poolResource).Body(desiredPool(name, replicas)).Do(ctx).Into(pool); err != nil {
			return nil, fmt.Errorf("creating SandboxWarmPool %q: %w", name, err)
		}
		pools = append(pools, pool)
	}
	return pools, nil
}

func (c clients) setMode(ctx context.Context, name string, mode sandboxv1beta1.OperatingMode) error {
	_, err := c.patchMode(ctx, name, mode)
	return err
}

func (c clients) patchMode(ctx context.Context, name string, mode sandboxv1beta1.OperatingMode) (*sandboxv1beta1.Sandbox, error) {
	patched := &sandboxv1beta1.Sandbox{}
	err := c.sandboxes.Patch(types.MergePatchType).Namespace(namespace).Resource(sandboxResource).Name(name).
		Body(fmt.Appendf(nil, `{"spec":{"operatingMode":%q}}`, mode)).Do(ctx).Into(patched)
	if err != nil {
		return nil, fmt.Errorf("setting Sandbox %q to %s: %w", name, mode, err)
	}
	return patched, nil
}

func (c clients) createPod(ctx context.Context, pod *corev1.Pod) error {
	if _, err := c.kubernetes.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating Pod %q: %w", pod.Name, err)
	}
	return nil
}

// deletePools asks for the end of every pool and template: nothing is made after that.
func (c clients) deletePools(ctx context.Context) error {
	for _, resource := range []string{poolResource, templateResource} {
		if err := c.extensions.Delete().Namespace(namespace).Resource(resource).Do(ctx).Error(); err != nil {
			return fmt.Errorf("deleting all %s: %w", resource, err)
		}
	}
	return nil
}

// createNamespace makes the namespace, and waits until Pods can be made in it.
func (c clients) createNamespace(ctx context.Context) error {
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.kubernetes.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s exists: is another benchmark running? Delete the namespace otherwise", namespace)
		}
		return fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	return poll(ctx, "the default ServiceAccount", func() (bool, error) {
		_, err := c.kubernetes.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func (c clients) deleteNamespace(ctx context.Context) error {
	if err := c.kubernetes.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting namespace %s: %w", namespace, err)
	}
	return nil
}
