package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// sandboxResource is what Sandboxes are called in paths.
const sandboxResource = "sandboxes"

// clients are as frugal as a plain client can be: no limit of their own, and protobuf where it is spoken.
type clients struct {
	kubernetes kubernetes.Interface
	sandboxes  rest.Interface
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
	if err := sandboxv1beta1.AddToScheme(scheme); err != nil {
		return clients{}, fmt.Errorf("registering Sandboxes: %w", err)
	}
	config.APIPath = "/apis"
	config.GroupVersion = &sandboxv1beta1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	sandboxClient, err := rest.RESTClientFor(config)
	if err != nil {
		return clients{}, fmt.Errorf("creating a client for Sandboxes: %w", err)
	}
	return clients{kubernetes: clientset, sandboxes: sandboxClient}, nil
}

func (c clients) create(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	created := &sandboxv1beta1.Sandbox{}
	err := c.sandboxes.Post().Namespace(namespace).Resource(sandboxResource).Body(sandbox).Do(ctx).Into(created)
	if err != nil {
		return nil, fmt.Errorf("creating Sandbox %q: %w", sandbox.Name, err)
	}
	return created, nil
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

func (c clients) deletePod(ctx context.Context, name string) error {
	if err := c.kubernetes.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting Pod %q: %w", name, err)
	}
	return nil
}

// deleteAll asks for the end of every Sandbox and Pod.
func (c clients) deleteAll(ctx context.Context) error {
	if err := c.sandboxes.Delete().Namespace(namespace).Resource(sandboxResource).Do(ctx).Error(); err != nil {
		return fmt.Errorf("deleting all Sandboxes: %w", err)
	}
	err := c.kubernetes.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("deleting all Pods: %w", err)
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
