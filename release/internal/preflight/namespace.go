package preflight

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func (t Target) describeNamespace() string { return "Namespace " + t.namespace }

func checkNamespace(seen Seen, target Target) []Finding {
	object := target.describeNamespace()
	if unknown := seen.Namespace.unknown(object); unknown != nil {
		return unknown
	}
	switch namespace := seen.Namespace.Value; {
	case namespace == nil:
		return []Finding{ok(object, "it is not there yet, and comes with the installation")}
	case namespace.DeletionTimestamp != nil:
		return []Finding{blocked(object, "it is being deleted, and takes nothing new: wait until it is gone. Its conditions say what keeps it").
			with(fmt.Sprintf("kubectl get namespace %s --output jsonpath='{.status.conditions}'", target.namespace))}
	}
	return []Finding{ok(object, "it is there")}
}

func checkPodSecurity(seen Seen, target Target) []Finding {
	namespace := seen.Namespace.Value
	if namespace == nil {
		return nil // told by checkNamespace
	}
	return decidePodSecurity(namespace, target.pods())
}

// decidePodSecurity asks the evaluator of Kubernetes' own admission plugin.
func decidePodSecurity(namespace *corev1.Namespace, pods []corev1.PodTemplateSpec) []Finding {
	object := "Namespace " + namespace.Name
	levels, problems := api.PolicyToEvaluate(namespace.Labels, privileged())
	if len(problems) > 0 {
		return []Finding{warning(object, "its Pod Security labels cannot be read, so that the API server takes the strictest level: %v", problems.ToAggregate())}
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return []Finding{{Result: Unknown, Object: object, Meaning: "Pod Security cannot be evaluated: " + err.Error()}}
	}
	var findings []Finding
	for _, pod := range pods {
		for _, result := range evaluator.EvaluatePod(levels.Enforce, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				findings = append(findings, blocked(object, "Pod Security (enforce %s) refuses the Pods of %s: %s: %s", levels.Enforce, pod.Name, result.ForbiddenReason, result.ForbiddenDetail))
			}
		}
	}
	if findings == nil {
		return []Finding{ok(object, "its Pod Security level (enforce %s) takes our Pods", levels.Enforce)}
	}
	return findings
}

// privileged is what holds without labels on most clusters.
func privileged() api.Policy {
	anything := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	return api.Policy{Enforce: anything, Audit: anything, Warn: anything}
}
