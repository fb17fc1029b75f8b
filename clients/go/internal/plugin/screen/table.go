package screen

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// column is one of a table. Those of -o wide have the priority 1.
func column(name string, priority int32) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Priority: priority}
}

func columns(names ...string) []metav1.TableColumnDefinition {
	made := make([]metav1.TableColumnDefinition, len(names))
	for i, name := range names {
		made[i] = column(name, 0)
	}
	return made
}

// wide adds columns of -o wide.
func wide(to []metav1.TableColumnDefinition, names ...string) []metav1.TableColumnDefinition {
	for _, name := range names {
		to = append(to, column(name, 1))
	}
	return to
}

// row keeps the metadata, by which the printer tells namespaces.
func row(object client.Object, cells ...any) metav1.TableRow {
	of := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	return metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: of}}
}

// readiness are the cells of a condition Ready.
func readiness(conditions []metav1.Condition) (status, reason string) {
	is := meta.FindStatusCondition(conditions, sandboxv1beta1.ConditionReady)
	if is == nil {
		return none, none
	}
	return string(is.Status), orNone(is.Reason)
}

// Sandboxes is a table of Sandboxes.
func Sandboxes(items []sandboxv1beta1.Sandbox, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: wide(columns("Name", "Ready", "Reason", "Owner", "Expires", "Age"), "Node", "Pod IP", "Mode")}
	for i := range items {
		s := &items[i]
		status, reason := readiness(s.Status.Conditions)
		ip := none
		if len(s.Status.PodIPs) > 0 {
			ip = s.Status.PodIPs[0]
		}
		table.Rows = append(table.Rows, row(s, s.Name, status, reason, owner(s), expiry(s.Spec.ShutdownTime, now), age(s.CreationTimestamp, now),
			orNone(s.Status.NodeName), ip, orNone(string(s.Spec.OperatingMode))))
	}
	return table
}

// owner is whose a Sandbox is: that of a claim, or a member of a pool that waits for one.
func owner(sandbox *sandboxv1beta1.Sandbox) string {
	controller := metav1.GetControllerOf(sandbox)
	switch {
	case controller == nil:
		return none
	case controller.Kind == extensionsv1beta1.SandboxClaimKind:
		return "claim/" + controller.Name
	case controller.Kind == extensionsv1beta1.SandboxWarmPoolKind:
		return "pool/" + controller.Name
	}
	return controller.Kind + "/" + controller.Name
}

// Claims is a table of claims.
func Claims(items []extensionsv1beta1.SandboxClaim, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: wide(columns("Name", "Ready", "Reason", "Sandbox", "Pool", "Start", "Expires", "Age"), "Pod IP")}
	for i := range items {
		c := &items[i]
		status, reason := readiness(c.Status.Conditions)
		ip := none
		if len(c.Status.Sandbox.PodIPs) > 0 {
			ip = c.Status.Sandbox.PodIPs[0]
		}
		table.Rows = append(table.Rows, row(c, c.Name, status, reason, orNone(c.Status.Sandbox.Name), c.Spec.WarmPoolRef.Name, start(c),
			expiry(claimExpiry(c), now), age(c.CreationTimestamp, now), ip))
	}
	return table
}

// start is how a claim got its Sandbox.
func start(claim *extensionsv1beta1.SandboxClaim) string {
	switch {
	case claim.Status.Sandbox.Name == "":
		return none
	case meta.IsStatusConditionTrue(claim.Status.Conditions, extensionsv1beta1.ConditionColdStart):
		return sandboxv1beta1.LaunchTypeCold
	}
	return sandboxv1beta1.LaunchTypeWarm
}

func claimExpiry(claim *extensionsv1beta1.SandboxClaim) *metav1.Time {
	if claim.Spec.Lifecycle == nil {
		return nil
	}
	return claim.Spec.Lifecycle.ShutdownTime
}

// Templates is a table of templates.
func Templates(items []extensionsv1beta1.SandboxTemplate, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: wide(columns("Name", "Ready", "Reason", "Age"), "Runtime", "Env", "Disks")}
	for i := range items {
		t := &items[i]
		status, reason := readiness(t.Status.Conditions)
		runtimeClass := none
		if t.Spec.PodTemplate.Spec.RuntimeClassName != nil {
			runtimeClass = *t.Spec.PodTemplate.Spec.RuntimeClassName
		}
		table.Rows = append(table.Rows, row(t, t.Name, status, reason, age(t.CreationTimestamp, now),
			runtimeClass, string(t.Spec.EnvVarsInjectionPolicy), string(t.Spec.VolumeClaimTemplatesPolicy)))
	}
	return table
}
