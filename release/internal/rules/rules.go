package rules

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

type rule struct {
	name  string
	check func(manifest.Asset) []finding.Finding
}

func table() []rule {
	return []rule{
		{"unique-objects", uniqueObjects},
		{"least-privilege", leastPrivilege},
		{"no-cluster-wide-secrets", noClusterWideSecrets},
		{"no-cluster-wide-powers", noClusterWidePowers},
		{"no-cluster-admin", noClusterAdmin},
		{"bindings-resolve", bindingsResolve},
		{"accounts-exist", accountsExist},
		{"policies-bound", policiesBound},
		{"restricted-namespace", restrictedNamespace},
		{"restricted-pods", restrictedPods},
		{"probes", probes},
		{"resources", resources},
		{"pinned-images", pinnedImages},
		{"services-select", servicesSelect},
		{"crd-size", crdSize},
		{"crd-descriptions", crdDescriptions},
	}
}

// Check applies every rule to an asset and gives back all findings, rule by rule in a fixed order.
func Check(asset manifest.Asset) []finding.Finding {
	if len(asset.Objects) == 0 {
		return []finding.Finding{{File: asset.Name, Rule: "not-empty", Object: "the file", Field: "documents", Fix: "render the asset again: it holds no object"}}
	}
	var findings []finding.Finding
	for _, rule := range table() {
		for _, breach := range rule.check(asset) {
			breach.File, breach.Rule = asset.Name, rule.name
			findings = append(findings, breach)
		}
	}
	return findings
}

// uniqueObjects: an object that stands twice is applied twice, and the last one wins without a word.
func uniqueObjects(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	seen := map[string]bool{}
	for _, object := range asset.Objects {
		if seen[object.ID()] {
			findings = append(findings, finding.Finding{Object: object.ID(), Field: "metadata.name", Value: object.Meta.GetName(), Fix: "declare the object once"})
		}
		seen[object.ID()] = true
	}
	return findings
}

// podTemplate is a Pod template inside a workload of an asset.
type podTemplate struct {
	object    manifest.Object
	template  *corev1.PodTemplateSpec
	longLived bool
}

// containers lists the containers of the template with their paths, init containers included.
func (p podTemplate) containers() map[string]corev1.Container {
	all := map[string]corev1.Container{}
	for _, container := range p.template.Spec.InitContainers {
		all[p.path("initContainers", container.Name)] = container
	}
	for _, container := range p.template.Spec.Containers {
		all[p.path("containers", container.Name)] = container
	}
	return all
}

func (p podTemplate) path(list, name string) string {
	return fmt.Sprintf("spec.template.spec.%s[%s]", list, name)
}

// podTemplates lists the Pod templates of all kinds of workload that package manifest knows.
func podTemplates(asset manifest.Asset) []podTemplate {
	var templates []podTemplate
	for _, object := range asset.Objects {
		switch typed := object.Typed.(type) {
		case *appsv1.Deployment:
			templates = append(templates, podTemplate{object: object, template: &typed.Spec.Template, longLived: true})
		case *appsv1.StatefulSet:
			templates = append(templates, podTemplate{object: object, template: &typed.Spec.Template, longLived: true})
		case *appsv1.DaemonSet:
			templates = append(templates, podTemplate{object: object, template: &typed.Spec.Template, longLived: true})
		case *batchv1.Job:
			templates = append(templates, podTemplate{object: object, template: &typed.Spec.Template})
		}
	}
	return templates
}

func joined(values []string) string {
	return strings.Join(values, ",")
}
