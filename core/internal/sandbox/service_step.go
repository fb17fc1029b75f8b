package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// serviceRequired says whether the Sandbox is not whole without its Service.
func serviceRequired(sandbox *sandboxv1beta1.Sandbox) bool {
	return ptr.Deref(sandbox.Spec.Service, false)
}

// serviceStep decides about the headless Service: true makes, adopts and repairs one, false deletes ours, unset keeps
// ours in order and makes none.
func serviceStep(s seen) serviceAction {
	ours := s.service != nil && isOurs(s.service, s.sandbox)
	refusedByUser := s.sandbox.Spec.Service != nil && !*s.sandbox.Spec.Service
	switch {
	case ours && refusedByUser:
		return removeService(s)
	case ours && serviceRequired(s.sandbox) && !isHeadless(s.service):
		return serviceAction{refused: refusal(fmt.Sprintf("Service %q is no longer headless: delete it, and it is made anew", s.service.Name))}
	case ours:
		return serviceAction{patch: serviceDrift(s)}
	case !serviceRequired(s.sandbox):
		return serviceAction{}
	case s.service == nil:
		return serviceAction{create: desiredService(s.sandbox)}
	case mayAdopt(s.service, s.sandbox):
		return adoptService(s)
	case onItsWayOut(s.service, s.sandbox):
		return serviceAction{}
	default:
		return serviceAction{refused: refuse("Service", s.service)}
	}
}

func removeService(s seen) serviceAction {
	if s.service.DeletionTimestamp != nil {
		return serviceAction{}
	}
	remove := targetOf(s.service)
	return serviceAction{remove: &remove}
}

func adoptService(s seen) serviceAction {
	if !isHeadless(s.service) {
		return serviceAction{refused: refusal(fmt.Sprintf(
			"Service %q is not headless and cannot be taken over: delete it, or create it with clusterIP: None", s.service.Name))}
	}
	patch := serviceChanges(s)
	patch.metadata.ResourceVersion = s.service.ResourceVersion
	patch.metadata.OwnerReferences = withController(s.service, s.sandbox)
	return serviceAction{patch: &patch}
}

func isHeadless(service *corev1.Service) bool { return service.Spec.ClusterIP == corev1.ClusterIPNone }

// serviceDrift is the patch that repairs our Service; nil when nothing is amiss.
func serviceDrift(s seen) *servicePatch {
	if s.service.DeletionTimestamp != nil {
		return nil
	}
	patch := serviceChanges(s)
	if patch.metadata.IsEmpty() && patch.spec == nil {
		return nil
	}
	return &patch
}

// serviceChanges compares label, selector and, where the Service is required, ports.
func serviceChanges(s seen) servicePatch {
	spec := serviceSpecPatch{Selector: selectorChanges(s.service.Spec.Selector, serviceSelector(s))}
	if serviceRequired(s.sandbox) {
		if ports := servicePorts(&s.sandbox.Spec.PodTemplate.Spec); !samePorts(s.service.Spec.Ports, ports) {
			spec.Ports = ports
		}
	}
	patch := servicePatch{name: s.service.Name, metadata: apply.Metadata{
		UID:    s.service.UID,
		Labels: apply.Changes(s.service.Labels, nameHashLabel(s.sandbox)),
	}}
	if len(spec.Selector) > 0 || spec.Ports != nil {
		patch.spec = &spec
	}
	return patch
}

// unroutable is a label that no Pod has: a Service whose selector asks for it routes nowhere.
const unroutable = "agents.x-k8s.io/unroutable"

// serviceSelector finds the Sandbox's Pod; of several it finds none, since nobody can say which is meant.
func serviceSelector(s seen) map[string]string {
	selector := podSelector(s.sandbox)
	if len(s.pods) > 1 {
		selector[unroutable] = sandboxv1beta1.ReasonMultiplePods
	}
	return selector
}

func selectorChanges(have, want map[string]string) map[string]*string {
	changes := apply.Changes(have, want)
	for key := range have {
		if _, wanted := want[key]; !wanted {
			changes[key] = nil
		}
	}
	return changes
}

// samePorts compares what we set, not what the API server adds.
func samePorts(have, want []corev1.ServicePort) bool {
	ours := func(port corev1.ServicePort) corev1.ServicePort {
		return corev1.ServicePort{Name: port.Name, Port: port.Port, Protocol: port.Protocol, TargetPort: port.TargetPort}
	}
	return slices.EqualFunc(have, want, func(a, b corev1.ServicePort) bool {
		return equality.Semantic.DeepEqual(ours(a), ours(b))
	})
}

func desiredService(sandbox *sandboxv1beta1.Sandbox) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:            sandbox.Name,
			Namespace:       sandbox.Namespace,
			Labels:          nameHashLabel(sandbox),
			OwnerReferences: []metav1.OwnerReference{controllerRef(sandbox)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  podSelector(sandbox),
			Ports:     servicePorts(&sandbox.Spec.PodTemplate.Spec),
		},
	}
}

// servicePorts are the ports that the containers and the restartable init containers declare: one for each port and
// protocol, sorted, under the first name given to it, or p-<port>-<protocol>.
func servicePorts(spec *corev1.PodSpec) []corev1.ServicePort {
	declared := declaredPorts(spec)
	taken := map[string]bool{}
	for i := range declared {
		if taken[declared[i].Name] {
			declared[i].Name = ""
		}
		taken[declared[i].Name] = true
	}
	ports := make([]corev1.ServicePort, 0, len(declared))
	for _, port := range declared {
		ports = append(ports, corev1.ServicePort{
			Name: cmp.Or(port.Name, generatedName(port, taken)), Port: port.ContainerPort, Protocol: port.Protocol,
			TargetPort: intstr.FromInt32(port.ContainerPort),
		})
	}
	slices.SortFunc(ports, func(a, b corev1.ServicePort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return ports
}

// generatedName avoids the names that users gave to other ports.
func generatedName(port corev1.ContainerPort, taken map[string]bool) string {
	name := fmt.Sprintf("p-%d-%s", port.ContainerPort, strings.ToLower(string(port.Protocol)))
	for taken[name] {
		name += "-x"
	}
	return name
}

// declaredPorts are the ports of a Pod in the order of declaration, once for each port and protocol. A named entry
// beats an unnamed one.
func declaredPorts(spec *corev1.PodSpec) []corev1.ContainerPort {
	type key struct {
		port     int32
		protocol corev1.Protocol
	}
	index := map[key]int{}
	var declared []corev1.ContainerPort
	for _, port := range allPorts(spec) {
		port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
		at, known := index[key{port.ContainerPort, port.Protocol}]
		switch {
		case !known:
			index[key{port.ContainerPort, port.Protocol}] = len(declared)
			declared = append(declared, port)
		case declared[at].Name == "":
			declared[at].Name = port.Name
		}
	}
	return declared
}

func allPorts(spec *corev1.PodSpec) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for i := range spec.Containers {
		ports = append(ports, spec.Containers[i].Ports...)
	}
	for i := range spec.InitContainers {
		if ptr.Deref(spec.InitContainers[i].RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			ports = append(ports, spec.InitContainers[i].Ports...)
		}
	}
	return ports
}
