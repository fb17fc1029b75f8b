package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const (
	// patience is how long a controller, a scheduler or a node may take until its silence is the matter.
	patience = 30 * time.Second
	// deletionPatience is how long a finalizer may hold an object until it is the matter.
	deletionPatience = time.Minute
)

// Seen is what was read about one object, and about what it stands on. What is nil or empty was not there, or was not to be read:
// Unread says which.
type Seen struct {
	// Now is when it was read.
	Now time.Time
	// Namespace is that of all of it.
	Namespace string

	Template *extensionsv1beta1.SandboxTemplate
	Pool     *extensionsv1beta1.SandboxWarmPool
	Claim    *extensionsv1beta1.SandboxClaim
	// Sandbox is the one that was asked about, that of the claim, or the member of the pool that is not Ready for longest.
	Sandbox *sandboxv1beta1.Sandbox
	// Pods are those that the Sandbox controls.
	Pods []corev1.Pod
	// Foreign is a Pod of the Sandbox's name that it does not control.
	Foreign *corev1.Pod
	// Disks are the PersistentVolumeClaims that the Sandbox controls.
	Disks []corev1.PersistentVolumeClaim
	// StorageClasses are those of the cluster, if a disk waits.
	StorageClasses []storagev1.StorageClass
	// Events are those about any of these, in any order.
	Events []corev1.Event
	// PoolNames and TemplateNames are those of the namespace, if one is missing.
	PoolNames, TemplateNames []string
	// Unread are the errors of what could not be read.
	Unread []string
}

// condition returns the one of the type, and nil if there is none.
func condition(conditions []metav1.Condition, of string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, of)
}

// podCondition is condition for those of a Pod.
func podCondition(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == of {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// latest returns the newest Event about the object with one of the reasons; without reasons, the newest Warning.
func (s Seen) latest(object client.Object, reasons ...string) *corev1.Event {
	var newest *corev1.Event
	for i := range s.Events {
		event := &s.Events[i]
		if event.InvolvedObject.UID != object.GetUID() {
			continue
		}
		if len(reasons) == 0 && event.Type != corev1.EventTypeWarning || len(reasons) > 0 && !slices.Contains(reasons, event.Reason) {
			continue
		}
		if newest == nil || lastSeen(newest).Before(lastSeen(event)) {
			newest = event
		}
	}
	return newest
}

// lastSeen is when an Event was last seen: the two Event APIs say it in different fields.
func lastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// kubectl and plugin write commands that work whatever the current namespace is.
func (s Seen) kubectl(format string, args ...any) string {
	return fmt.Sprintf("kubectl -n %s ", s.Namespace) + fmt.Sprintf(format, args...)
}

func (s Seen) plugin(format string, args ...any) string {
	return fmt.Sprintf("kubectl sandbox -n %s ", s.Namespace) + fmt.Sprintf(format, args...)
}

// deleting explains an object that is being deleted. resource is its kind as kubectl takes it.
func (s Seen) deleting(object client.Object, resource string) []Finding {
	if object.GetDeletionTimestamp() == nil {
		return nil
	}
	began := object.GetDeletionTimestamp().Time
	finalizers := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return name == metav1.FinalizerDeleteDependents })
	if len(finalizers) == 0 {
		return one(found(Waiting, BeingDeleted, "It is being deleted, and what it owns goes first").since(began))
	}
	severity := Waiting
	if s.Now.Sub(began) > deletionPatience {
		severity = Stuck
	}
	return one(found(severity, FinalizerHolds, "It is being deleted, and a finalizer holds it").since(began).
		because("metadata.finalizers has %s: whoever put it there has to take it off", strings.Join(finalizers, ", ")).
		next(s.kubectl("get %s %s -o jsonpath='{.metadata.finalizers}'", resource, object.GetName()), s.kubectl("edit %s %s", resource, object.GetName())))
}

// unobserved explains an object of which no controller has said anything, or not since its last change. observed is 0 in the first case.
func (s Seen) unobserved(object client.Object, observed int64) []Finding {
	began := object.GetCreationTimestamp().Time
	late := s.Now.Sub(began) > patience
	switch {
	case observed == 0 && late:
		return one(found(Stuck, ControllerSilent, "No controller has said anything about it").since(began).
			because("its status is empty %s after it was made", s.Now.Sub(began).Round(time.Second)).next("kubectl sandbox doctor", logs))
	case observed == 0:
		return one(found(Waiting, ControllerSilent, "Waiting for the controller to look at it").since(began))
	case observed < object.GetGeneration():
		return one(found(Waiting, ControllerBehind, "Waiting for the controller to act on the last change").
			because("its status speaks of generation %d, the object has generation %d", observed, object.GetGeneration()).next(logs))
	}
	return nil
}

// logs shows what the controller of Sandboxes says.
const logs = "kubectl -n agent-sandbox-system logs deployment/agent-sandbox-controller"

// unread tells what could not be read, last.
func (s Seen) unread() []Finding {
	findings := make([]Finding, 0, len(s.Unread))
	for _, what := range s.Unread {
		findings = append(findings, found(Unknown, NotReadable, "Something could not be read, so this may not be all").because("%s", what))
	}
	return findings
}

// Hidden is the finding about objects of a kind that could not be listed.
func Hidden(kind string, err error) Finding {
	f := found(Unknown, NotReadable, "Whether any is stuck could not be read").because("%s", err.Error())
	f.Object = kind + "/*"
	return f
}

func choices(names []string) string {
	if len(names) == 0 {
		return "there is none in the namespace"
	}
	return "there is " + strings.Join(names, ", ")
}
