package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

func TestDecideAboutTheService(t *testing.T) {
	port80 := func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
	}
	noOwner := func(s *corev1.Service) { s.OwnerReferences = nil }
	remove := serviceAction{remove: &target{name: "box", uid: "uid-service"}}
	portPatch := serviceAction{patch: &servicePatch{name: "box",
		metadata: apply.Metadata{UID: "uid-service", Labels: map[string]*string{}},
		spec:     &serviceSpecPatch{Selector: map[string]*string{}, Ports: servicePorts(&corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}})}}}
	cases := map[string]struct {
		seen seen
		want serviceAction
	}{
		"none is made unless asked for (A1.21)":   {seenWith(sandboxWith()), serviceAction{}},
		"true makes one":                          {seenWith(sandboxWith(service(true))), serviceAction{create: desiredService(sandboxWith())}},
		"a suspended Sandbox has its Service too": {seenWith(sandboxWith(service(true), suspended)), serviceAction{create: desiredService(sandboxWith())}},
		"true leaves a good one alone":            {seenWith(sandboxWith(service(true)), withService(ownService())), serviceAction{}},
		"false deletes ours":                      {seenWith(sandboxWith(service(false)), withService(ownService())), remove},
		"false leaves a foreign one":              {seenWith(sandboxWith(service(false)), withService(ownService(noOwner))), serviceAction{}},
		"unset keeps ours":                        {seenWith(sandboxWith(), withService(ownService())), serviceAction{}},
		"unset does not adopt an orphan":          {seenWith(sandboxWith(), withService(ownService(noOwner))), serviceAction{}},
		"true keeps its ports in step":            {seenWith(sandboxWith(service(true), port80), withService(ownService())), portPatch},
		"unset does not":                          {seenWith(sandboxWith(port80), withService(ownService())), serviceAction{}},
		"a selector edited by hand is repaired, unset too (A1.20)": {
			seenWith(sandboxWith(), withService(ownService(func(s *corev1.Service) {
				s.Spec.Selector = map[string]string{"app": "mine", sandboxv1beta1.LabelSandboxUID: "uid-box"}
				s.Labels = nil
			}))),
			serviceAction{patch: &servicePatch{name: "box",
				metadata: apply.Metadata{UID: "uid-service", Labels: map[string]*string{sandboxv1beta1.LabelSandboxNameHash: ptr.To(boxHash())}},
				spec:     &serviceSpecPatch{Selector: map[string]*string{"app": nil, sandboxv1beta1.LabelSandboxNameHash: ptr.To(boxHash())}},
			}},
		},
		"ours is no longer headless": {
			seenWith(sandboxWith(service(true)), withService(ownService(func(s *corev1.Service) { s.Spec.ClusterIP = "" }))),
			serviceAction{refused: refusal(`Service "box" is no longer headless: delete it, and it is made anew`)},
		},
		"true adopts an orphan": {
			seenWith(sandboxWith(service(true)), withService(ownService(noOwner))),
			serviceAction{patch: &servicePatch{name: "box", metadata: apply.Metadata{
				UID: "uid-service", ResourceVersion: "50", Labels: map[string]*string{}, OwnerReferences: owned("uid-box", "box"),
			}}},
		},
		"but not one with a cluster IP": {
			seenWith(sandboxWith(service(true)), withService(ownService(noOwner, func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.7" }))),
			serviceAction{refused: refusal(`Service "box" is not headless and cannot be taken over: delete it, or create it with clusterIP: None`)},
		},
		"another's is refused": {
			seenWith(sandboxWith(service(true)), withService(ownService(func(s *corev1.Service) { s.OwnerReferences = owned("uid-other", "other") }))),
			serviceAction{refused: refusal(`Service "box" is controlled by Sandbox "other": delete it or rename the Sandbox`)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := cmp.AllowUnexported(serviceAction{}, target{}, servicePatch{})
			if diff := cmp.Diff(tc.want, decide(tc.seen).service, options); diff != "" {
				t.Errorf("service action (-want +got):\n%s", diff)
			}
		})
	}
}

// A1.22: the Service lists the declared ports, once for each protocol, under unique names.
func TestServicePorts(t *testing.T) {
	port := func(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
	}
	want := func(name string, number int32, protocol corev1.Protocol) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: protocol, TargetPort: intstr.FromInt32(number)}
	}
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	cases := map[string]struct {
		spec corev1.PodSpec
		want []corev1.ServicePort
	}{
		"none declared": {want: []corev1.ServicePort{}},
		"sorted, named by port and protocol, TCP by default": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{port("", 90, ""), port("", 53, "UDP"), port("", 53, "TCP")}}}},
			want: []corev1.ServicePort{want("p-53-tcp", 53, "TCP"), want("p-53-udp", 53, "UDP"), want("p-90-tcp", 90, "TCP")},
		},
		"the first declared keeps a name that two want": {
			spec: corev1.PodSpec{Containers: []corev1.Container{
				{Ports: []corev1.ContainerPort{port("http", 9000, "TCP")}}, {Ports: []corev1.ContainerPort{port("http", 80, "TCP")}},
			}},
			want: []corev1.ServicePort{want("p-80-tcp", 80, "TCP"), want("http", 9000, "TCP")},
		},
		"one entry for each port and protocol, with the first name given": {
			spec: corev1.PodSpec{Containers: []corev1.Container{
				{Ports: []corev1.ContainerPort{port("", 80, "TCP")}}, {Ports: []corev1.ContainerPort{port("web", 80, "TCP"), port("late", 80, "TCP")}},
			}},
			want: []corev1.ServicePort{want("web", 80, "TCP")},
		},
		"sidecars count, init containers that end do not": {
			spec: corev1.PodSpec{InitContainers: []corev1.Container{
				{RestartPolicy: always, Ports: []corev1.ContainerPort{port("side", 70, "TCP")}}, {Ports: []corev1.ContainerPort{port("init", 71, "TCP")}},
			}},
			want: []corev1.ServicePort{want("side", 70, "TCP")},
		},
		"a generated name makes way for a user's": {
			spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{port("", 80, "TCP"), port("p-80-tcp", 81, "TCP")}}}},
			want: []corev1.ServicePort{want("p-80-tcp-x", 80, "TCP"), want("p-80-tcp", 81, "TCP")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, servicePorts(&tc.spec)); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}
