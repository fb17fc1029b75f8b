package sim

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// kind is one of the kinds of object that the simulation has.
type kind int

const (
	sandboxKind kind = iota
	claimKind
	poolKind
	templateKind
	podKind
	volumeKind
	serviceKind
	kinds
	// noKind : the simulation has no objects of that kind.
	noKind
)

func (k kind) String() string {
	return [...]string{"Sandbox", "Claim", "Pool", "Template", "Pod", "PVC", "Service", "", "none"}[k]
}

// namespace is where everything is.
const namespace = "sim"

// kindOf is the kind of an object, or of the objects in a list.
func kindOf(obj any) kind {
	switch obj.(type) {
	case *sandboxv1beta1.Sandbox, *sandboxv1beta1.SandboxList:
		return sandboxKind
	case *extensionsv1beta1.SandboxClaim, *extensionsv1beta1.SandboxClaimList:
		return claimKind
	case *extensionsv1beta1.SandboxWarmPool, *extensionsv1beta1.SandboxWarmPoolList:
		return poolKind
	case *extensionsv1beta1.SandboxTemplate, *extensionsv1beta1.SandboxTemplateList:
		return templateKind
	case *corev1.Pod, *corev1.PodList:
		return podKind
	case *corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList:
		return volumeKind
	case *corev1.Service, *corev1.ServiceList:
		return serviceKind
	default:
		return noKind
	}
}

func newObject(k kind) client.Object {
	return [...]func() client.Object{
		func() client.Object { return &sandboxv1beta1.Sandbox{} },
		func() client.Object { return &extensionsv1beta1.SandboxClaim{} },
		func() client.Object { return &extensionsv1beta1.SandboxWarmPool{} },
		func() client.Object { return &extensionsv1beta1.SandboxTemplate{} },
		func() client.Object { return &corev1.Pod{} },
		func() client.Object { return &corev1.PersistentVolumeClaim{} },
		func() client.Object { return &corev1.Service{} },
	}[k]()
}

// copyInto reads an object into another of its kind.
func copyInto(to, from client.Object) {
	switch from := from.(type) {
	case *sandboxv1beta1.Sandbox:
		from.DeepCopyInto(to.(*sandboxv1beta1.Sandbox))
	case *extensionsv1beta1.SandboxClaim:
		from.DeepCopyInto(to.(*extensionsv1beta1.SandboxClaim))
	case *extensionsv1beta1.SandboxWarmPool:
		from.DeepCopyInto(to.(*extensionsv1beta1.SandboxWarmPool))
	case *extensionsv1beta1.SandboxTemplate:
		from.DeepCopyInto(to.(*extensionsv1beta1.SandboxTemplate))
	case *corev1.Pod:
		from.DeepCopyInto(to.(*corev1.Pod))
	case *corev1.PersistentVolumeClaim:
		from.DeepCopyInto(to.(*corev1.PersistentVolumeClaim))
	case *corev1.Service:
		from.DeepCopyInto(to.(*corev1.Service))
	}
}

// appendTo adds an object to a list, without a copy of what it points to.
func appendTo(list client.ObjectList, obj client.Object) {
	switch list := list.(type) {
	case *sandboxv1beta1.SandboxList:
		list.Items = append(list.Items, *obj.(*sandboxv1beta1.Sandbox))
	case *extensionsv1beta1.SandboxClaimList:
		list.Items = append(list.Items, *obj.(*extensionsv1beta1.SandboxClaim))
	case *extensionsv1beta1.SandboxWarmPoolList:
		list.Items = append(list.Items, *obj.(*extensionsv1beta1.SandboxWarmPool))
	case *corev1.PodList:
		list.Items = append(list.Items, *obj.(*corev1.Pod))
	}
}

func copyOf(obj client.Object) client.Object {
	copied := newObject(kindOf(obj))
	copyInto(copied, obj)
	return copied
}

// specOf is what a change of raises the generation of an object.
func specOf(obj client.Object) any {
	switch obj := obj.(type) {
	case *sandboxv1beta1.Sandbox:
		return &obj.Spec
	case *extensionsv1beta1.SandboxClaim:
		return &obj.Spec
	case *extensionsv1beta1.SandboxWarmPool:
		return &obj.Spec
	case *extensionsv1beta1.SandboxTemplate:
		return &obj.Spec
	default:
		return nil
	}
}

// setStatus gives an object the status of another of its kind, where its kind has a status apart.
func setStatus(obj, from client.Object) {
	switch obj := obj.(type) {
	case *sandboxv1beta1.Sandbox:
		obj.Status = from.(*sandboxv1beta1.Sandbox).Status
	case *extensionsv1beta1.SandboxClaim:
		obj.Status = from.(*extensionsv1beta1.SandboxClaim).Status
	case *extensionsv1beta1.SandboxWarmPool:
		obj.Status = from.(*extensionsv1beta1.SandboxWarmPool).Status
	case *corev1.Pod:
		obj.Status = from.(*corev1.Pod).Status
	}
}
