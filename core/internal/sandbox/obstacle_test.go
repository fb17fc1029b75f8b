package sandbox

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

const (
	// quietTime is how long nothing much may be sent about a Sandbox that something stands in the way of.
	quietTime = 30 * time.Second
	// quietRequests is what growing pauses, 20 ms at first and doubling, leave room for in that time.
	quietRequests = 15
)

// trouble is something that keeps a Sandbox from its Pod.
type trouble struct {
	// prepare puts it in the way.
	prepare func(world)
	spec    func(*sandboxv1beta1.Sandbox)
	// afterwards does the part of those who are not here, once the Sandbox exists.
	afterwards func(world)
	// reason and message of Ready; the message and an Event contain it.
	reason, message string
	event           string
	// heal takes it away; edit is what the user changes about the Sandbox, where that is what it takes.
	heal func(world)
	edit func(*sandboxv1beta1.Sandbox)
}

func troubles() map[string]trouble {
	return map[string]trouble{
		"a quota that is used up": {
			prepare: func(w world) { w.setQuota("pods-left", corev1.ResourcePods, "0") },
			reason:  sandboxv1beta1.ReasonQuotaExceeded, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `Pod "box": ResourceQuota "pods-left" leaves no room for it: pods (requested 1 of 0)`,
			heal:    func(w world) { w.setQuota("pods-left", corev1.ResourcePods, "5") },
		},
		"a quota for disks": {
			prepare: func(w world) { w.setQuota("disks-left", corev1.ResourceRequestsStorage, "512Mi") },
			spec:    disk("data"),
			reason:  sandboxv1beta1.ReasonQuotaExceeded, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `PersistentVolumeClaim "data-box": ResourceQuota "disks-left" leaves no room for it: requests.storage (requested 1Gi of 512Mi)`,
			heal:    func(w world) { w.setQuota("disks-left", corev1.ResourceRequestsStorage, "5Gi") },
		},
		"a quota for Services": {
			prepare: func(w world) { w.setQuota("services-left", corev1.ResourceServices, "0") },
			spec:    service(true),
			reason:  sandboxv1beta1.ReasonQuotaExceeded, event: sandboxv1beta1.EventSandboxReconcileFailed,
			message: `Service "box": ResourceQuota "services-left" leaves no room for it: services (requested 1 of 0)`,
			heal:    func(w world) { w.setQuota("services-left", corev1.ResourceServices, "5") },
		},
		"a LimitRange": {
			prepare: func(w world) { w.must("creating the LimitRange", w.user.Create(context.Background(), w.limitRange())) },
			spec:    limitedTo("2"),
			reason:  sandboxv1beta1.ReasonQuotaExceeded, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `Pod "box": LimitRange "small" does not allow it: cpu of container main is above the most, 1`,
			heal:    func(w world) { w.must("deleting the LimitRange", w.user.Delete(context.Background(), w.limitRange())) },
		},
		"a LimitRange whose default spoils the Pod": {
			prepare: func(w world) {
				w.must("creating the LimitRange", w.user.Create(context.Background(), w.defaultLimit()))
			},
			spec: func(s *sandboxv1beta1.Sandbox) {
				s.Spec.PodTemplate.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}
			},
			reason: sandboxv1beta1.ReasonQuotaExceeded, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `Pod "box": LimitRange "default" spoils it by its defaults: cpu of container main has a request of 5 above a limit of 1`,
			heal: func(w world) {
				w.must("deleting the LimitRange", w.user.Delete(context.Background(), w.defaultLimit()))
			},
		},
		"a policy that denies Pods": {
			prepare: func(w world) { w.denyPods(admissionregistrationv1.Create, w.tryPod) },
			reason:  sandboxv1beta1.ReasonReconcilerError, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: "denied request: no Pods today",
			heal:    func(w world) { testkit.Allow(w.t, w.user, w.namespace) },
		},
		"a RuntimeClass that is missing": {
			spec:   func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.RuntimeClassName = ptr.To("gvisor") },
			reason: sandboxv1beta1.ReasonRuntimeClassNotFound, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `RuntimeClass "gvisor" of Pod "box" does not exist`,
			heal: func(w world) {
				w.must("creating the RuntimeClass", w.user.Create(context.Background(),
					&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc"}))
			},
		},
		"a namespace that allows no such Pod": {
			prepare: func(w world) { w.labelNamespace(`"restricted"`) },
			reason:  sandboxv1beta1.ReasonReconcilerError, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `violates PodSecurity "restricted:latest"`,
			heal:    func(w world) { w.labelNamespace("null") },
		},
		"a Pod that is invalid": {
			spec:   func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Name = "Not A Name" },
			reason: sandboxv1beta1.ReasonInvalidConfiguration, event: sandboxv1beta1.EventSandboxPodCreateFailed,
			message: `spec.containers[0].name`,
			edit:    func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Name = "main" },
		},
		"a scheduling gate": {
			spec: func(s *sandboxv1beta1.Sandbox) {
				s.Spec.PodTemplate.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
			},
			reason: sandboxv1beta1.ReasonDependenciesNotReady, event: sandboxv1beta1.EventSandboxPodUnschedulable,
			message: "Pod exists with phase: Pending; scheduling gate example.com/wait is closed",
			heal:    func(w world) { w.patchPod(`{"spec":{"schedulingGates":null}}`) },
		},
		"a StorageClass that is missing": {
			spec: func(s *sandboxv1beta1.Sandbox) {
				disk("data")(s)
				s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("fast")
				s.Spec.PodTemplate.Metadata.Annotations = map[string]string{testkit.HoldAnnotation: "yes"}
			},
			reason: sandboxv1beta1.ReasonDependenciesNotReady, event: sandboxv1beta1.EventSandboxPodUnschedulable,
			message:    `Pod exists with phase: Pending; StorageClass "fast" of PersistentVolumeClaim "data-box" does not exist`,
			afterwards: world.leaveUnschedulable,
			heal: func(w world) {
				w.bindPod()
				w.runPod()
			},
		},
	}
}

func limitedTo(cpu string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func (w world) limitRange() *corev1.LimitRange {
	return &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "small"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}},
	}
}

func (w world) defaultLimit() *corev1.LimitRange {
	return &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "default"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}},
	}
}

// setQuota does the part of the quota controller too, which is not here: it writes the status that admission goes by.
func (w world) setQuota(name string, of corev1.ResourceName, hard string) {
	w.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if !w.exists(quota) {
		quota.Spec.Hard = corev1.ResourceList{of: resource.MustParse(hard)}
		w.must("creating the quota", w.user.Create(context.Background(), quota))
	}
	patch := fmt.Sprintf(`{"status":{"hard":{%q:%q},"used":{%q:"0"}}}`, of, hard, of)
	w.must("setting the quota", w.user.Status().Patch(context.Background(), quota, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// labelNamespace sets the Pod Security level that is enforced, a JSON value.
func (w world) labelNamespace(level string) {
	w.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%s}}}`, level)
	w.must("labelling the namespace", w.user.Patch(context.Background(), namespace, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func (w world) patchPod(patch string) {
	w.t.Helper()
	w.must("patching the Pod", w.user.Patch(context.Background(), w.pod(), client.RawPatch(types.MergePatchType, []byte(patch))))
}

// leaveUnschedulable does the part of a scheduler that finds no node.
func (w world) leaveUnschedulable() {
	w.t.Helper()
	patch := `{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"pod has unbound immediate PersistentVolumeClaims"}]}}`
	testkit.Eventually(w.t, "a Pod to be scheduled", func() error {
		return w.user.Status().Patch(context.Background(), w.pod(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
	})
}

// troubled is a Sandbox that something keeps from its Pod, in a world of its own.
type troubled struct {
	world
	trouble
	box *sandboxv1beta1.Sandbox
}

// newTroubled returns once condition and Event tell what is the matter.
func newTroubled(t *testing.T, what trouble) troubled {
	t.Helper()
	w := newWorld(t)
	if what.prepare != nil {
		what.prepare(w)
	}
	spec := what.spec
	if spec == nil {
		spec = func(*sandboxv1beta1.Sandbox) {}
	}
	box := w.create(spec)
	if what.afterwards != nil {
		what.afterwards(w)
	}
	w.waitForReady(box, what.reason, what.message)
	w.waitForEvent(what.event, what.message)
	w.writes.Reset()
	return troubled{w, what, box}
}

// Each trouble is told by condition and Event, is left in peace for 30 seconds, and heals when its cause goes.
func TestATroubleIsToldWaitedForAndHeals(t *testing.T) {
	all := map[string]troubled{}
	for name, what := range troubles() {
		all[name] = newTroubled(t, what)
	}
	testkit.Throughout(t, quietTime, "nobody is pestered", func() error {
		for name, it := range all {
			if n := it.writes.Requests(); n > quietRequests {
				return fmt.Errorf("%s: %d requests: %v", name, n, it.writes.Counts())
			}
		}
		return nil
	})
	for name, it := range all {
		t.Run(name, func(t *testing.T) {
			t.Logf("requests in %s: %d %v", quietTime, it.writes.Requests(), it.writes.Counts())
			if it.heal != nil {
				it.heal(it.world)
			}
			if it.trouble.edit != nil {
				it.world.edit(it.box, it.trouble.edit)
			}
			it.waitForReady(it.box, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready")
		})
	}
}

// waitForReady waits for a reason of Ready and for a part of its message, longer than any pause between tries.
func (w world) waitForReady(box *sandboxv1beta1.Sandbox, reason, message string) {
	w.t.Helper()
	testkit.EventuallyWithin(w.t, retryLongest+testkit.Patience, "Ready is "+reason, func() error {
		w.get(box)
		ready := meta.FindStatusCondition(box.Status.Conditions, sandboxv1beta1.ConditionReady)
		if ready == nil || ready.Reason != reason || !strings.Contains(ready.Message, message) {
			return fmt.Errorf("conditions %q", lines(box.Status.Conditions))
		}
		return nil
	})
}

func (w world) waitForEvent(reason, note string) {
	w.t.Helper()
	testkit.Eventually(w.t, "the Event "+reason, func() error {
		var list eventsv1.EventList
		w.must("listing Events", w.user.List(context.Background(), &list, client.InNamespace(w.namespace)))
		var notes []string
		for i := range list.Items {
			if list.Items[i].Reason == reason && strings.Contains(list.Items[i].Note, note) {
				return nil
			}
			notes = append(notes, list.Items[i].Reason+": "+list.Items[i].Note)
		}
		return fmt.Errorf("there is none that says %q among %q", note, notes)
	})
}
