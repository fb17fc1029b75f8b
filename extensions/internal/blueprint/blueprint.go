package blueprint

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

// publicNameservers serve Pods that the secure default policy keeps from the cluster's DNS.
func publicNameservers() []string { return []string{"8.8.8.8", "1.1.1.1"} }

// Origin says for whom a Sandbox is built.
type Origin struct {
	// Name of the Sandbox.
	Name string
	// Owner becomes its controller.
	Owner metav1.OwnerReference
	// Labels and Annotations are the owner's, beside those that name the template.
	Labels, Annotations map[string]string
}

// Sandbox is what the template builds.
func Sandbox(template *extensionsv1beta1.SandboxTemplate, origin Origin) *sandboxv1beta1.Sandbox {
	labels := TemplateLabels(template.Name)
	maps.Copy(labels, origin.Labels)
	annotations := map[string]string{sandboxv1beta1.AnnotationTemplateRef: template.Name}
	maps.Copy(annotations, origin.Annotations)
	return &sandboxv1beta1.Sandbox{
		ObjectMeta: metav1.ObjectMeta{
			Name:            origin.Name,
			Namespace:       template.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{origin.Owner},
		},
		Spec: spec(template),
	}
}

// TemplateLabels are those by which a template's Sandboxes and Pods are selected.
func TemplateLabels(template string) map[string]string {
	return map[string]string{
		sandboxv1beta1.LabelTemplateRefHash: names.Hash(template),
		sandboxv1beta1.LabelTemplateRef:     names.Digest(template),
	}
}

// spec is the template's blueprint with what is secure filled in where it says nothing.
func spec(template *extensionsv1beta1.SandboxTemplate) sandboxv1beta1.SandboxSpec {
	built := template.Spec.DeepCopy()
	secure(&built.PodTemplate.Spec, template)
	return sandboxv1beta1.SandboxSpec{
		PodTemplate:          built.PodTemplate,
		VolumeClaimTemplates: built.VolumeClaimTemplates,
		Service:              built.Service,
		PodFailurePolicy:     built.PodFailurePolicy,
	}
}

// secure fills in of a template's Pod what is secure where it says nothing.
func secure(pod *corev1.PodSpec, template *extensionsv1beta1.SandboxTemplate) {
	if pod.AutomountServiceAccountToken == nil {
		pod.AutomountServiceAccountToken = ptr.To(false)
	}
	if hasSecureDefaultPolicy(template) && pod.DNSPolicy == "" {
		pod.DNSPolicy = corev1.DNSNone
		pod.DNSConfig = withNameservers(pod.DNSConfig)
	}
}

func hasSecureDefaultPolicy(template *extensionsv1beta1.SandboxTemplate) bool {
	return template.Spec.NetworkPolicyManagement != extensionsv1beta1.NetworkPolicyUnmanaged && template.Spec.NetworkPolicy == nil
}

// withNameservers keeps searches and options that the template has. Its own nameservers come first.
func withNameservers(config *corev1.PodDNSConfig) *corev1.PodDNSConfig {
	filled := ptr.Deref(config, corev1.PodDNSConfig{})
	if len(filled.Nameservers) == 0 {
		filled.Nameservers = publicNameservers()
	}
	return &filled
}

// Hash is the fingerprint of what a template builds: its blueprint with what is secure filled in, which a change of its network policy
// may change. The Pod's metadata is no part of it: a change of that alone makes no member stale. It fails when the blueprint has no
// JSON form.
func Hash(template *extensionsv1beta1.SandboxTemplate) (string, error) {
	bare := template.Spec.SandboxBlueprint
	bare.PodTemplate.Metadata = sandboxv1beta1.PodMetadata{}
	secure(&bare.PodTemplate.Spec, template)
	return names.Fingerprint(bare)
}

// IsFresh says whether a Sandbox is built from the template as it is now, whose Hash is given. A Sandbox of an older
// release, or one whose label was edited, is compared with what the template would build.
func IsFresh(sandbox *sandboxv1beta1.Sandbox, template *extensionsv1beta1.SandboxTemplate, hash string) bool {
	switch {
	case sandbox.Labels[sandboxv1beta1.LabelTemplateRef] != "" && sandbox.Labels[sandboxv1beta1.LabelTemplateRef] != names.Digest(template.Name):
		return false
	case sandbox.Labels[sandboxv1beta1.LabelTemplateRefHash] != names.Hash(template.Name):
		return false
	case sandbox.Labels[extensionsv1beta1.LabelTemplateHash] == hash:
		return true
	}
	return isBuiltFrom(sandbox, template)
}

func isBuiltFrom(sandbox *sandboxv1beta1.Sandbox, template *extensionsv1beta1.SandboxTemplate) bool {
	want := spec(template)
	have := sandbox.Spec
	return equality.Semantic.DeepEqual(have.PodTemplate.Spec, want.PodTemplate.Spec) &&
		equality.Semantic.DeepEqual(have.VolumeClaimTemplates, want.VolumeClaimTemplates) &&
		ptr.Equal(have.Service, want.Service) &&
		have.PodFailurePolicy == want.PodFailurePolicy
}

// CreatedBy is the value of the label created-by that a claim hands on; empty without one.
func CreatedBy(claim *extensionsv1beta1.SandboxClaim) string {
	value := claim.Labels[sandboxv1beta1.LabelCreatedBy]
	known := []string{sandboxv1beta1.CreatedByGoClient, sandboxv1beta1.CreatedByPythonClient, sandboxv1beta1.CreatedByController}
	if value == "" || slices.Contains(known, value) {
		return value
	}
	return sandboxv1beta1.CreatedByUnknown
}
