package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// restrictedNamespace: the namespace itself must hold its Pods to the restricted Pod Security Standard.
func restrictedNamespace(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, object := range asset.Objects {
		namespace, ok := object.Typed.(*corev1.Namespace)
		if !ok {
			continue
		}
		if level := namespace.Labels[api.EnforceLevelLabel]; level != string(api.LevelRestricted) {
			findings = append(findings, finding.Finding{
				Object: object.ID(), Field: "metadata.labels[" + api.EnforceLevelLabel + "]", Value: level, Fix: "set it to restricted",
			})
		}
	}
	return findings
}

// restrictedPods asks the evaluator of Kubernetes' own admission plugin, at its latest version. A read-only root
// file system is not part of that standard; our containers write nothing, so it is asked for as well.
func restrictedPods(asset manifest.Asset) []finding.Finding {
	templates := podTemplates(asset)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return []finding.Finding{{Object: "the Pod Security evaluator", Field: "checks", Value: err.Error(), Fix: "use a release of k8s.io/pod-security-admission whose checks are valid"}}
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var findings []finding.Finding
	for _, template := range templates {
		for _, result := range evaluator.EvaluatePod(restricted, &template.template.ObjectMeta, &template.template.Spec) {
			if !result.Allowed {
				findings = append(findings, finding.Finding{
					Object: template.object.ID(), Field: "spec.template.spec", Value: result.ForbiddenReason + ": " + result.ForbiddenDetail,
					Fix: "meet the restricted Pod Security Standard",
				})
			}
		}
		containers := template.containers()
		for _, path := range slices.Sorted(maps.Keys(containers)) {
			security := containers[path].SecurityContext
			if security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
				findings = append(findings, finding.Finding{
					Object: template.object.ID(), Field: path + ".securityContext.readOnlyRootFilesystem", Fix: "set it to true",
				})
			}
		}
	}
	return findings
}

// probes: a container of a long-lived Pod says whether it lives and whether it is ready.
func probes(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, template := range podTemplates(asset) {
		if !template.longLived {
			continue
		}
		for _, container := range template.template.Spec.Containers {
			for field, probe := range map[string]*corev1.Probe{"livenessProbe": container.LivenessProbe, "readinessProbe": container.ReadinessProbe} {
				if probe == nil {
					findings = append(findings, finding.Finding{
						Object: template.object.ID(), Field: template.path("containers", container.Name) + "." + field, Fix: "add the probe",
					})
				}
			}
		}
	}
	slices.SortFunc(findings, func(a, b finding.Finding) int { return strings.Compare(a.Object+a.Field, b.Object+b.Field) })
	return findings
}

// resources asks for what the scheduler and the kernel need. A CPU limit is not asked for: it throttles a
// controller just when a burst comes.
func resources(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, template := range podTemplates(asset) {
		containers := template.containers()
		for _, path := range slices.Sorted(maps.Keys(containers)) {
			asked := containers[path].Resources
			for _, want := range []struct {
				field string
				list  corev1.ResourceList
				name  corev1.ResourceName
			}{
				{"requests", asked.Requests, corev1.ResourceCPU},
				{"requests", asked.Requests, corev1.ResourceMemory},
				{"limits", asked.Limits, corev1.ResourceMemory},
			} {
				if quantity := want.list[want.name]; quantity.IsZero() {
					findings = append(findings, finding.Finding{
						Object: template.object.ID(), Field: fmt.Sprintf("%s.resources.%s.%s", path, want.field, want.name), Fix: "set a quantity",
					})
				}
			}
		}
	}
	return findings
}

// pinnedImages: an image without a tag, or with latest, is another one tomorrow.
func pinnedImages(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, template := range podTemplates(asset) {
		containers := template.containers()
		for _, path := range slices.Sorted(maps.Keys(containers)) {
			if image := containers[path].Image; !pinned(image) {
				findings = append(findings, finding.Finding{
					Object: template.object.ID(), Field: path + ".image", Value: image, Fix: "give it a version tag or a digest",
				})
			}
		}
	}
	return findings
}

func pinned(image string) bool {
	if strings.Contains(image, "@sha256:") {
		return true
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tagged && tag != "" && tag != "latest"
}

// servicesSelect: every Service has Pods of this asset behind it, and its named target ports exist there.
func servicesSelect(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, object := range asset.Objects {
		service, ok := object.Typed.(*corev1.Service)
		if !ok {
			continue
		}
		selected := selectedTemplates(service, podTemplates(asset))
		if len(selected) == 0 {
			findings = append(findings, finding.Finding{
				Object: object.ID(), Field: "spec.selector", Value: labels.Set(service.Spec.Selector).String(), Fix: "select the labels of a Pod template of this asset",
			})
		}
		for _, template := range selected {
			for i, port := range service.Spec.Ports {
				if port.TargetPort.Type == intstr.String && !declaresPort(template, port.TargetPort.StrVal) {
					findings = append(findings, finding.Finding{
						Object: object.ID(), Field: fmt.Sprintf("spec.ports[%d].targetPort", i), Value: port.TargetPort.StrVal,
						Fix: "name a port that " + template.object.ID() + " declares",
					})
				}
			}
		}
	}
	return findings
}

func selectedTemplates(service *corev1.Service, templates []podTemplate) []podTemplate {
	var selected []podTemplate
	for _, template := range templates {
		matches := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.template.Labels))
		if len(service.Spec.Selector) > 0 && matches && template.object.Meta.GetNamespace() == service.Namespace {
			selected = append(selected, template)
		}
	}
	return selected
}

func declaresPort(template podTemplate, name string) bool {
	for _, container := range template.template.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name {
				return true
			}
		}
	}
	return false
}
