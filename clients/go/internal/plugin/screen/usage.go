package screen

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// Used is what a Sandbox uses.
type Used struct {
	Sandbox *sandboxv1beta1.Sandbox
	Pod     *corev1.Pod
	// Metrics are nil where there are none yet.
	Metrics *metricsv1beta1.PodMetrics
}

// Usage is a table of what Sandboxes use; -o wide tells the limits of their containers, too.
func Usage(items []Used) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: wide(columns("Name", "CPU(cores)", "Memory(bytes)", "Owner"), "CPU limit", "Memory limit", "Node")}
	for _, u := range items {
		cpu, memory := none, none
		if u.Metrics != nil {
			cpu, memory = cores(used(u.Metrics, corev1.ResourceCPU)), mebibytes(used(u.Metrics, corev1.ResourceMemory))
		}
		table.Rows = append(table.Rows, row(u.Sandbox, u.Sandbox.Name, cpu, memory, owner(u.Sandbox),
			limit(u.Pod, corev1.ResourceCPU, cores), limit(u.Pod, corev1.ResourceMemory, mebibytes), orNone(u.Pod.Spec.NodeName)))
	}
	return table
}

func used(metrics *metricsv1beta1.PodMetrics, of corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, container := range metrics.Containers {
		sum.Add(container.Usage[of])
	}
	return sum
}

// limit is what the containers may use together; none if one of them has no limit.
func limit(pod *corev1.Pod, of corev1.ResourceName, format func(resource.Quantity) string) string {
	var sum resource.Quantity
	for i := range pod.Spec.Containers {
		bound, has := pod.Spec.Containers[i].Resources.Limits[of]
		if !has {
			return none
		}
		sum.Add(bound)
	}
	return format(sum)
}

func cores(quantity resource.Quantity) string { return fmt.Sprintf("%dm", quantity.MilliValue()) }

func mebibytes(quantity resource.Quantity) string {
	return fmt.Sprintf("%dMi", quantity.Value()/(1<<20))
}
