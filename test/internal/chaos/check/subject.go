package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// ClaimName is the name of the PersistentVolumeClaim of a Sandbox.
func ClaimName(sandbox string) string { return fixture.DiskTemplate + "-" + sandbox }

// SandboxOfClaim is the name of the Sandbox that gives a PersistentVolumeClaim its name.
func SandboxOfClaim(claim string) string { return strings.TrimPrefix(claim, fixture.DiskTemplate+"-") }

// subject is a Sandbox and what it controls.
type subject struct {
	*judge
	sandbox  *sandboxv1beta1.Sandbox
	account  *Account
	pods     []*corev1.Pod
	claims   []*corev1.PersistentVolumeClaim
	services []*corev1.Service
	// unowned is a Pod of the Sandbox's name without a controller.
	unowned *corev1.Pod
}

func (s *subject) expired() bool { return hasExpired(s.sandbox, s.Now) }

// hasPod says whether the Sandbox is to have a Pod.
func (s *subject) hasPod() bool { return !s.expired() && !isSuspended(s.sandbox) }

// hasService says whether the Sandbox is to have a Service.
func (s *subject) hasService() bool { return !s.expired() && ptr.Deref(s.sandbox.Spec.Service, false) }

// hasClaim says whether the Sandbox is to have a PersistentVolumeClaim: one that expired before its controller saw it never
// got one.
func (s *subject) hasClaim() bool {
	return hasDisk(s.sandbox) && (!s.expired() || s.Disks[s.sandbox.UID] != "")
}

func (s *subject) wrong(format string, args ...any) {
	s.fail(KindSandbox, s.sandbox.Name, s.sandbox.Name, format, args...)
}

// judgeAll compares the Sandbox's status and children with its spec.
func (s *subject) judgeAll() {
	s.judgeConditions()
	s.judgePods()
	s.judgeStatus()
	s.judgeClaims()
	s.judgeServices()
}

// conditionsWanted are those of a Sandbox at rest: status and reason, by type.
func (s *subject) conditionsWanted() map[string]string {
	wanted := map[string]string{
		sandboxv1beta1.ConditionReady:     "True " + sandboxv1beta1.ReasonDependenciesReady,
		sandboxv1beta1.ConditionSuspended: "False " + sandboxv1beta1.ReasonNotSuspended,
	}
	if s.hasPod() {
		wanted[sandboxv1beta1.ConditionPodScheduled] = s.scheduled()
	}
	if isSuspended(s.sandbox) {
		wanted[sandboxv1beta1.ConditionReady] = "False " + sandboxv1beta1.ReasonSandboxSuspended
		wanted[sandboxv1beta1.ConditionSuspended] = "True " + sandboxv1beta1.ReasonPodTerminated
		if s.unowned != nil {
			wanted[sandboxv1beta1.ConditionSuspended] = "False " + sandboxv1beta1.ReasonPodNotOwned
		}
	}
	if s.expired() {
		wanted[sandboxv1beta1.ConditionReady] = "False " + sandboxv1beta1.ReasonSandboxExpired
	}
	return wanted
}

// scheduled is what the Pod itself says about it. A scheduler that takes the Pod for an earlier one of its name may have left
// an error there that is none.
func (s *subject) scheduled() string {
	status, reason := corev1.ConditionTrue, ""
	for _, pod := range s.pods {
		for _, is := range pod.Status.Conditions {
			if is.Type == corev1.PodScheduled {
				status, reason = is.Status, is.Reason
			}
		}
	}
	return string(status) + " " + cmp.Or(reason, sandboxv1beta1.ReasonPodScheduled)
}

func (s *subject) judgeConditions() {
	wanted := s.conditionsWanted()
	for _, kind := range slices.Sorted(maps.Keys(wanted)) {
		is := meta.FindStatusCondition(s.sandbox.Status.Conditions, kind)
		switch {
		case is == nil:
			s.wrong("want condition %s=%s, there is none", kind, wanted[kind])
		case string(is.Status)+" "+is.Reason != wanted[kind]:
			s.wrong("want condition %s=%s, it is %s %s: %s", kind, wanted[kind], is.Status, is.Reason, is.Message)
		case is.ObservedGeneration != s.sandbox.Generation:
			s.wrong("condition %s is of generation %d, the Sandbox of %d", kind, is.ObservedGeneration, s.sandbox.Generation)
		}
	}
	for _, is := range s.sandbox.Status.Conditions {
		// A Pod that was taken over was made from the spec of another Sandbox.
		drifted := is.Type == sandboxv1beta1.ConditionPodTemplateDrifted && s.account.Orphaned && s.hasPod()
		if _, known := wanted[is.Type]; !known && !drifted {
			s.wrong("condition %s=%s %s has no cause: %s", is.Type, is.Status, is.Reason, is.Message)
		}
	}
}

func (s *subject) judgePods() {
	switch {
	case !s.hasPod() && len(s.pods) > 0:
		s.wrong("it is %s and controls Pods: %s", s.sandbox.Spec.OperatingMode, describePods(s.pods))
	case s.hasPod() && len(s.pods) != 1:
		s.wrong("want one Pod, there are %d: %s", len(s.pods), describePods(s.pods))
	case s.hasPod():
		s.judgePod(s.pods[0])
	}
}

func (s *subject) judgePod(pod *corev1.Pod) {
	name := s.sandbox.Name
	labels := map[string]string{
		sandboxv1beta1.LabelSandboxNameHash: names.Hash(name), sandboxv1beta1.LabelSandboxUID: string(s.sandbox.UID),
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if pod.Labels[key] != labels[key] {
			s.fail(KindPod, pod.Name, name, "want label %s=%s, it is %q", key, labels[key], pod.Labels[key])
		}
	}
	switch {
	case pod.Name != name:
		s.fail(KindPod, pod.Name, name, "it has another name than its Sandbox")
	case pod.Status.Phase != corev1.PodRunning:
		s.fail(KindPod, pod.Name, name, "its phase is %s", pod.Status.Phase)
	}
}

// judgeStatus compares what the status tells of Pod and Service.
func (s *subject) judgeStatus() {
	status := s.sandbox.Status
	var ips []string
	var node string
	if len(s.pods) == 1 {
		node = s.pods[0].Spec.NodeName
		for _, ip := range s.pods[0].Status.PodIPs {
			ips = append(ips, ip.IP)
		}
	}
	if !slices.Equal(status.PodIPs, ips) || status.NodeName != node {
		s.wrong("its status has IPs %v and node %q, its Pod %v and %q", status.PodIPs, status.NodeName, ips, node)
	}
	if s.hasPod() && len(ips) == 0 {
		s.wrong("its Pod has no IP")
	}
	service, fqdn := "", ""
	if s.hasService() {
		service, fqdn = s.sandbox.Name, s.sandbox.Name+"."+s.sandbox.Namespace+".svc."
	}
	if status.Service != service || !strings.HasPrefix(status.ServiceFQDN, fqdn) || (fqdn == "") != (status.ServiceFQDN == "") {
		s.wrong("its status has service %q and FQDN %q, want %q and %q…", status.Service, status.ServiceFQDN, service, fqdn)
	}
	selector := sandboxv1beta1.LabelSandboxNameHash + "=" + names.Hash(s.sandbox.Name)
	valid := status.LabelSelector == selector && !s.expired() || status.LabelSelector == "" && !s.hasPod()
	if !valid {
		s.wrong("its status has selector %q", status.LabelSelector)
	}
}
