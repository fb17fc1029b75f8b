package testkit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// HoldAnnotation on a Pod keeps the Kubelet from touching it.
const HoldAnnotation = "testkit/hold"

// Kubelet stands for scheduler and kubelet: every Pod is scheduled, runs and is ready at once, and is gone at once when
// it is deleted.
type Kubelet struct {
	client kubernetes.Interface
	lastIP atomic.Uint32
}

// StartKubelet starts a Kubelet for all namespaces that works until the test ends.
func StartKubelet(t testing.TB, config *rest.Config) {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("creating the kubelet's client: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kubelet{client: clientset}
	pods := cache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	sync := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok && ctx.Err() == nil {
			if err := k.sync(ctx, pod); err != nil && ctx.Err() == nil {
				t.Errorf("kubelet: Pod %s/%s: %v", pod.Namespace, pod.Name, err)
			}
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods,
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    sync,
			UpdateFunc: func(_, obj any) { sync(obj) },
		},
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
	})
}

func (k *Kubelet) sync(ctx context.Context, pod *corev1.Pod) error {
	if _, held := pod.Annotations[HoldAnnotation]; held {
		return nil
	}
	switch {
	case pod.DeletionTimestamp != nil:
		err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
		return ignoreGone(err)
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "node-1"},
		}
		return ignoreGone(k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}))
	case pod.Status.Phase == corev1.PodPending:
		return k.run(ctx, pod)
	}
	return nil
}

func (k *Kubelet) run(ctx context.Context, pod *corev1.Pod) error {
	n := k.lastIP.Add(1)
	ip := fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}],"conditions":[{"type":"Ready","status":"True"}]}}`,
		pod.UID, ip, ip)
	_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return ignoreGone(err)
}

// ignoreGone drops what the end of a Pod, seen late, brings about.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
