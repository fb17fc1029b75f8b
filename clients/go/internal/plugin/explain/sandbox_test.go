package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// told is a finding but for its words.
func told(findings []explain.Finding) []string {
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = strings.TrimSpace(strings.Join([]string{string(f.Severity), string(f.Cause), f.Part}, " "))
	}
	return lines
}

// check compares, and wants of what is stuck that it has evidence and a way out.
func check(t *testing.T, findings []explain.Finding, why string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(findings)); diff != "" {
		t.Fatalf("findings (-want +got):\n%s\n%+v", diff, findings)
	}
	if !strings.Contains(findings[0].Why, why) {
		t.Errorf("the evidence %q lacks %q", findings[0].Why, why)
	}
	for _, f := range findings {
		if f.What == "" || f.Object == "" {
			t.Errorf("a finding says nothing: %+v", f)
		}
		if f.Severity == explain.Stuck && len(f.Next) == 0 {
			t.Errorf("%s is stuck, and nothing is to be done", f.Cause)
		}
	}
}

func TestASandboxIsExplainedByItsConditions(t *testing.T) {
	suspended := func(reason string, status metav1.ConditionStatus) *sandboxv1beta1.Sandbox {
		return unready(sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspending", says(sandboxv1beta1.ConditionSuspended, reason, "so it is", status))
	}
	young := func(s *sandboxv1beta1.Sandbox) { s.CreationTimestamp, s.Status.Conditions = ago(time.Second), nil }
	silent := func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions = nil }
	ready := func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions[0].Status = metav1.ConditionTrue }
	edited := func(s *sandboxv1beta1.Sandbox) { s.Generation = 2 }
	foreign := pod()
	foreign.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "other", UID: "another", Controller: ptr.To(true)}}
	withForeign := func(s explain.Seen) explain.Seen {
		s.Foreign = &foreign
		return s
	}
	cases := map[string]struct {
		seen explain.Seen
		why  string
		want []string
	}{
		"one that is ready is well": {seen(waits(ready)), "", []string{"ok AllWell"}},
		"one whose template was edited is well, and it is told": {
			seen(waits(ready, says(sandboxv1beta1.ConditionPodTemplateDrifted, "PodSpecChanged", "", metav1.ConditionTrue))),
			"", []string{"ok AllWell", "note TemplateDrifted"},
		},
		"one that was just made waits for the controller":   {seen(waits(young)), "", []string{"waiting ControllerSilent"}},
		"one that nobody looks at is stuck":                 {seen(waits(silent)), "5m0s", []string{"stuck ControllerSilent"}},
		"one that was just edited waits for the controller": {seen(waits(ready, edited)), "generation 2", []string{"waiting ControllerBehind"}},
		"one that is deleted waits for what it owns":        {seen(deleted(waits(), time.Second)), "", []string{"waiting BeingDeleted"}},
		"one that is deleted in the foreground is not held": {seen(deleted(waits(), time.Hour, metav1.FinalizerDeleteDependents)), "", []string{"waiting BeingDeleted"}},
		"one that is deleted waits for its Pod":             {seen(deleted(waits(), time.Second), pod(deletedPod(-time.Second))), "1s", []string{"waiting PodTerminating"}},
		"a finalizer has a moment to let it go":             {seen(deleted(waits(), time.Second, "a/b")), "a/b", []string{"waiting FinalizerHolds"}},
		"a finalizer holds it":                              {seen(deleted(waits(), time.Hour, "a/b")), "a/b", []string{"stuck FinalizerHolds"}},
		"one that is suspended is as it was asked for":      {seen(suspended("PodTerminated", metav1.ConditionTrue)), "", []string{"note Suspended"}},
		"one that is being suspended waits":                 {seen(suspended("PodTerminating", metav1.ConditionFalse)), "so it is", []string{"waiting PodTerminating"}},
		"one whose Pod ends waits for its grace period":     {seen(suspended("PodTerminating", metav1.ConditionFalse), pod(deletedPod(-time.Minute))), "1m0s", []string{"waiting PodTerminating"}},
		"one whose node is silent is stuck":                 {seen(suspended("PodTerminating", metav1.ConditionFalse), pod(deletedPod(time.Hour))), "node-1", []string{"stuck NodeSilent"}},
		"one whose Pod a finalizer holds is stuck":          {seen(suspended("PodTerminating", metav1.ConditionFalse), pod(deletedPod(time.Hour, "c/d"))), "c/d", []string{"stuck FinalizerHolds"}},
		"a foreign Pod keeps it from being suspended":       {withForeign(seen(suspended("PodNotOwned", metav1.ConditionFalse))), "Job other", []string{"stuck NotOwned"}},
		"a foreign Pod keeps it from being made":            {withForeign(seen(unready("ReconcilerError", "Error seen: taken"))), "Job other", []string{"stuck NotOwned"}},
		"one that has expired is as it was asked for":       {seen(unready("SandboxExpired", "Sandbox has expired")), "Sandbox has expired", []string{"note Expired"}},
		"one whose Pod succeeded is done":                   {seen(unready("PodSucceeded", "Pod completed successfully")), "completed", []string{"note Ended"}},
		"one whose Pod failed is stuck":                     {seen(unready("PodFailed", "Pod failed: container main OOMKilled")), "OOMKilled", []string{"stuck Ended"}},
		"one with several Pods does not choose":             {seen(unready("MultiplePods", "multiple Pods")), "multiple", []string{"stuck SeveralPods"}},
		"one that is invalid waits for a change":            {seen(unready("InvalidConfiguration", "spec.x: Invalid value")), "spec.x", []string{"stuck InvalidSpec"}},
		"a quota stands in the way":                         {seen(unready("QuotaExceeded", "exceeded quota: pods")), "exceeded", []string{"stuck QuotaExceeded"}},
		"its RuntimeClass is missing":                       {seen(unready("RuntimeClassNotFound", `"gvisor" not found`)), "gvisor", []string{"stuck RuntimeClassMissing"}},
		"Pod Security refuses its Pod":                      {seen(unready("ReconcilerError", `pods "box" is forbidden: violates PodSecurity "restricted:latest"`)), "restricted", []string{"stuck PodSecurity"}},
		"anything else that is refused is told":             {seen(unready("ReconcilerError", "Error seen: no")), "no", []string{"stuck Refused"}},
		"one whose Pod is to be made again waits":           {seen(waits(says("PodRecreating", "BackingOff", "2 failed in a row", metav1.ConditionTrue))), "2 failed", []string{"waiting BackingOff"}},
		"what is ready and not said yet is passed on":       {seen(waits(), pod(podReady, withIP)), "DependenciesNotReady", []string{"waiting Unexplained"}},
		"what could not be read is told beside what is known": {
			explain.Seen{Now: now, Namespace: "team", Sandbox: waits(), Pods: []corev1.Pod{pod(container("ErrImagePull", "no"))}, Unread: []string{"events: forbidden"}},
			"no", []string{"stuck ImagePull", "unknown NotReadable"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, explain.Sandbox(c.seen), c.why, c.want...) })
	}
}

func withIP(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}} }

func TestASandboxIsExplainedByItsPod(t *testing.T) {
	with := func(s explain.Seen, events ...corev1.Event) explain.Seen {
		s.Events = events
		return s
	}
	normal := func(reason, message string, since time.Duration) corev1.Event {
		e := event(reason, message)
		e.Type, e.LastTimestamp = corev1.EventTypeNormal, ago(since)
		return e
	}
	refusal := corev1.Event{
		InvolvedObject: corev1.ObjectReference{UID: "uid of box"}, Reason: sandboxv1beta1.EventSandboxPodCreateFailed, Message: "webhook says no",
	}
	stranger := event("FailedMount", "of somebody else")
	stranger.InvolvedObject.UID = "another"
	gated := pod(unscheduled(corev1.PodReasonSchedulingGated, ""))
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	cases := map[string]struct {
		seen  explain.Seen
		cause string
		why   string
	}{
		"it has none yet":                           {seen(waits()), "waiting PodMissing", "phase"},
		"it has none, and an Event says why":        {with(seen(waits()), refusal), "waiting PodMissing", "webhook says no"},
		"it is being replaced":                      {seen(waits(), pod(deletedPod(-time.Second))), "waiting PodTerminating", ""},
		"no node takes it":                          {seen(waits(), pod(unscheduled(corev1.PodReasonUnschedulable, "0/3 nodes are available"))), "stuck Unschedulable", "0/3 nodes"},
		"a gate holds it":                           {seen(waits(), gated), "stuck Gated", "example.com/gate"},
		"no scheduler looks at it":                  {seen(waits(), pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.SchedulerName = "", "mine" })), "stuck SchedulerSilent", "mine"},
		"the scheduler has a moment":                {seen(waits(), pod(func(p *corev1.Pod) { p.Spec.NodeName, p.CreationTimestamp = "", ago(time.Second) })), "waiting SchedulerSilent", ""},
		"its image cannot be pulled":                {seen(waits(), pod(container("ImagePullBackOff", "not found"))), "stuck ImagePull", "not found"},
		"its image may not be pulled":               {seen(waits(), pod(container("ErrImageNeverPull", ""))), "stuck ImagePull", "ErrImageNeverPull"},
		"its image has no name":                     {seen(waits(), pod(container("InvalidImageName", ""))), "stuck ImagePull", "InvalidImageName"},
		"its image is being pulled":                 {with(seen(waits(), pod()), normal("Pulling", "Pulling image x", time.Second)), "waiting ImagePulling", "Pulling image x"},
		"its image was pulled":                      {with(seen(waits(), pod()), normal("Pulling", "", time.Minute), normal("Pulled", "", time.Second)), "waiting ContainerStarting", ""},
		"what its container refers to is missing":   {seen(waits(), pod(container("CreateContainerConfigError", `secret "a" not found`))), "stuck ContainerConfig", "secret"},
		"its container ends again and again":        {seen(waits(), pod(running, container("CrashLoopBackOff", "back-off"))), "stuck ContainerCrashes", "4 times, at last with exit code 7 (Error)"},
		"its container is being made":               {seen(waits(), pod(container("ContainerCreating", ""))), "waiting ContainerStarting", ""},
		"a volume cannot be mounted":                {with(seen(waits(), pod()), event("FailedMount", "timed out")), "stuck MountFails", "timed out"},
		"a volume of another Pod is none of its":    {with(seen(waits(), pod()), stranger), "waiting ContainerStarting", ""},
		"the node cannot isolate it":                {with(seen(waits(), pod()), event("FailedCreatePodSandBox", "no runtime for runsc")), "stuck PodSandboxFails", "runsc"},
		"its probe fails":                           {with(seen(waits(), pod(running)), event("Unhealthy", "connection refused")), "stuck ProbeFails", "refused"},
		"its probe failed, but it has a moment":     {with(seen(waits(), pod(running, justStarted)), event("Unhealthy", "refused")), "waiting ContainerStarting", "unready"},
		"it runs and is not ready":                  {seen(waits(), pod(running)), "waiting ContainerStarting", "unready status"},
		"it is ready without an IP":                 {seen(waits(), pod(podReady)), "waiting NoAddress", ""},
		"it is ready, and the Service is not there": {seen(waits(func(s *sandboxv1beta1.Sandbox) { s.Spec.Service = ptr.To(true) }), pod(podReady, withIP)), "waiting ServiceMissing", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, explain.Sandbox(c.seen), c.why, c.cause) })
	}
}

func justStarted(p *corev1.Pod) { p.Status.StartTime = ptr.To(ago(time.Second)) }

func TestASandboxIsExplainedByItsDisks(t *testing.T) {
	later := storagev1.VolumeBindingWaitForFirstConsumer
	fast := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	local := storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "local", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		VolumeBindingMode: &later,
	}
	provisioning := event("ProvisioningFailed", "the cloud has no more")
	provisioning.InvolvedObject.UID = "uid of data-box"
	cases := map[string]struct {
		disk    corev1.PersistentVolumeClaim
		classes []storagev1.StorageClass
		events  []corev1.Event
		unread  []string
		want    []string
		why     string
	}{
		"the class does not exist":            {disk(ptr.To("gone")), []storagev1.StorageClass{fast}, nil, nil, []string{"stuck StorageClassMissing"}, "gone"},
		"there is no default class":           {disk(nil), []storagev1.StorageClass{fast}, nil, nil, []string{"stuck StorageClassMissing"}, ""},
		"it waits for somebody to make it":    {disk(ptr.To("")), nil, nil, nil, []string{"stuck DiskPending"}, "empty"},
		"it cannot be made":                   {disk(ptr.To("fast")), []storagev1.StorageClass{fast}, []corev1.Event{provisioning}, nil, []string{"stuck DiskPending"}, "no more"},
		"it is being made":                    {disk(ptr.To("fast")), []storagev1.StorageClass{fast}, nil, nil, []string{"waiting DiskPending"}, ""},
		"it waits for the Pod to have a node": {disk(nil), []storagev1.StorageClass{local}, nil, nil, []string{"stuck Unschedulable"}, "0/1 nodes"},
		"the classes may not be read":         {disk(ptr.To("fast")), nil, nil, []string{"forbidden"}, []string{"waiting DiskPending", "unknown NotReadable"}, ""},
		"it is there, so that is not it":      {disk(nil, bound), nil, nil, nil, []string{"stuck Unschedulable"}, "0/1 nodes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := seen(waits(), pod(unscheduled(corev1.PodReasonUnschedulable, "0/1 nodes are available")))
			s.Disks, s.StorageClasses, s.Events, s.Unread = []corev1.PersistentVolumeClaim{c.disk}, c.classes, c.events, c.unread
			check(t, explain.Sandbox(s), c.why, c.want...)
		})
	}
}

func bound(disk *corev1.PersistentVolumeClaim) { disk.Status.Phase = corev1.ClaimBound }
