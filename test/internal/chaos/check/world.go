package check

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// World is a namespace at one moment.
type World struct {
	Sandboxes []sandboxv1beta1.Sandbox
	Pods      []corev1.Pod
	Claims    []corev1.PersistentVolumeClaim
	Services  []corev1.Service
}

// Disks are the PersistentVolumeClaims that a watch has seen first of Sandboxes, by their UIDs.
type Disks map[types.UID]types.UID

// Read reads a namespace.
func Read(ctx context.Context, c client.Reader, namespace string) (World, error) {
	var sandboxes sandboxv1beta1.SandboxList
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&sandboxes, &pods, &claims, &services} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return World{}, fmt.Errorf("reading namespace %s: %w", namespace, err)
		}
	}
	return World{Sandboxes: sandboxes.Items, Pods: pods.Items, Claims: claims.Items, Services: services.Items}, nil
}

// Children are the Pods, PersistentVolumeClaims and Services.
func (w World) Children() []Child {
	var all []Child
	for i := range w.Pods {
		all = append(all, Child{Kind: KindPod, Sandbox: w.Pods[i].Name, Object: &w.Pods[i]})
	}
	for i := range w.Claims {
		all = append(all, Child{Kind: KindClaim, Sandbox: SandboxOfClaim(w.Claims[i].Name), Object: &w.Claims[i]})
	}
	for i := range w.Services {
		all = append(all, Child{Kind: KindService, Sandbox: w.Services[i].Name, Object: &w.Services[i]})
	}
	return all
}

// Kinds of objects, as a Violation names them.
const (
	KindSandbox = sandboxv1beta1.SandboxKind
	KindPod     = "Pod"
	KindClaim   = "PersistentVolumeClaim"
	KindService = "Service"
)

// Child is an object of a name that a Sandbox gives.
type Child struct {
	Kind    string
	Sandbox string // the name of the Sandbox that gives it
	Object  metav1.Object
}

func (c Child) owner() types.UID {
	if ref := metav1.GetControllerOfNoCopy(c.Object); ref != nil {
		return ref.UID
	}
	return ""
}
