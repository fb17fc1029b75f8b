package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// architectures are those that our images are built for.
func architectures() []string { return []string{"amd64", "arm64"} }

func checkNodes(seen Seen, target Target) []Finding {
	const object = "Nodes"
	if unknown := seen.Nodes.unknown(object); unknown != nil {
		return unknown
	}
	nodes := seen.Nodes.Value
	if len(nodes) == 0 {
		return []Finding{blocked(object, "there is none, so that no Pod runs, ours included: add one, or, where an autoscaler adds them, expect the first Pod to wait for it")}
	}
	var takes int
	var refuse, cordoned []string
	for _, node := range nodes {
		why := whyNotOn(node, target.pods())
		if why == "" {
			takes++
			continue
		}
		refuse = append(refuse, node.Name+" "+why)
		if node.Spec.Unschedulable {
			cordoned = append(cordoned, "kubectl uncordon "+node.Name)
		}
	}
	if takes > 0 {
		return []Finding{ok(object, "%d of %d take our Pods", takes, len(nodes))}
	}
	finding := blocked(object, "none of the %d takes our Pods: %s", len(nodes), some(refuse))
	if cordoned != nil {
		return []Finding{finding.with(cordoned[0])}
	}
	return []Finding{finding.with("kubectl describe nodes")}
}

// whyNotOn says what keeps our Pods from a node, by what does not change from minute to minute; empty if nothing does.
func whyNotOn(node corev1.Node, pods []corev1.PodTemplateSpec) string {
	switch {
	case !isReady(node):
		return "is not Ready"
	case node.Spec.Unschedulable:
		return "is cordoned"
	case node.Labels[corev1.LabelArchStable] != "" && !slices.Contains(architectures(), node.Labels[corev1.LabelArchStable]):
		return fmt.Sprintf("has another architecture (%s) than our images (%s)", node.Labels[corev1.LabelArchStable], and(architectures()))
	}
	for _, pod := range pods {
		if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
			return fmt.Sprintf("lacks the label %s", labels.Set(pod.Spec.NodeSelector))
		}
		for _, taint := range node.Spec.Taints {
			if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(taint, pod.Spec.Tolerations) {
				return "has the taint " + taint.ToString()
			}
		}
		needed := total(pod.Spec, requestsOf)
		for _, name := range sorted(needed) {
			has, asked := node.Status.Allocatable[name], needed[name]
			if has.Cmp(asked) < 0 {
				return fmt.Sprintf("has %s of %s, less than the %s that %s asks for", has.String(), name, asked.String(), pod.Name)
			}
		}
	}
	return ""
}

func isReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// tolerated by the rules of the scheduler, without comparisons of numbers, which our Pods do not have.
func tolerated(taint corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value)
	})
}
