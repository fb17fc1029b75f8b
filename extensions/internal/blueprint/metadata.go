package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// LabelDomains are those under which a claim may label its Pod: these, and their subdomains.
type LabelDomains []string

// DefaultLabelDomains hold where the administrator names none.
func DefaultLabelDomains() LabelDomains { return LabelDomains{"sandbox.users.io"} }

// ParseLabelDomains reads domains that are parted by commas or ends of lines. Without any the default holds. The error names the
// first that is none.
func ParseLabelDomains(text string) (LabelDomains, error) {
	var domains LabelDomains
	for _, domain := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		domain = strings.TrimSpace(domain)
		if domain == "" {
			continue
		}
		if wrong := validation.IsDNS1123Subdomain(domain); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is no domain: %s", domain, wrong[0])
		}
		domains = append(domains, domain)
	}
	if len(domains) == 0 {
		return DefaultLabelDomains(), nil
	}
	return domains, nil
}

// clusterDomains are those of annotations that tell the cluster what to do.
func clusterDomains() []string { return []string{"kubernetes.io", "k8s.io", "agents.x-k8s.io"} }

// CheckMetadata says whether a claim may add that metadata to a Pod which has what is in base.
func (d LabelDomains) CheckMetadata(added, base sandboxv1beta1.PodMetadata) *Refusal {
	const path = "spec.additionalPodMetadata"
	for _, key := range slices.Sorted(maps.Keys(added.Labels)) {
		if refused := d.refuseLabel(key, added.Labels[key], base.Labels); refused != "" {
			return &Refusal{extensionsv1beta1.ReasonInvalidMetadata, fmt.Sprintf("%s.labels[%q]: %s", path, key, refused)}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(added.Annotations)) {
		if refused := refuseAnnotation(key, added.Annotations[key], base.Annotations); refused != "" {
			return &Refusal{extensionsv1beta1.ReasonInvalidMetadata, fmt.Sprintf("%s.annotations[%q]: %s", path, key, refused)}
		}
	}
	if wrong := apivalidation.ValidateAnnotations(added.Annotations, fieldpath.NewPath("spec", "additionalPodMetadata", "annotations")); len(wrong) > 0 {
		return &Refusal{extensionsv1beta1.ReasonInvalidMetadata, wrong[0].Error()}
	}
	return nil
}

func (d LabelDomains) refuseLabel(key, value string, base map[string]string) string {
	domain, _, found := strings.Cut(key, "/")
	switch wrong := validation.IsValidLabelValue(value); {
	case len(validation.IsQualifiedName(key)) > 0:
		return "is no label key: " + validation.IsQualifiedName(key)[0]
	case len(wrong) > 0:
		return fmt.Sprintf("%q is no label value: %s", value, wrong[0])
	case key == "app" && value == "sandbox-router":
		return "a Pod with app=sandbox-router passes for the router: choose another label"
	case isBelow(domain, clusterDomains()) && found:
		return "belongs to the cluster: choose another label"
	case !found || !isBelow(domain, d):
		return fmt.Sprintf("must have the domain %s, or one below: choose another label, or have the domain allowed", strings.Join(d, " or "))
	}
	return refuseOverride(key, value, base)
}

// refuseAnnotation leaves of the cluster's annotations one to claims: whether the Pod may be evicted.
func refuseAnnotation(key, value string, base map[string]string) string {
	domain, _, found := strings.Cut(key, "/")
	if found && isBelow(domain, clusterDomains()) && key != sandboxv1beta1.AnnotationSafeToEvict || key == sandboxv1beta1.AnnotationTraceContext {
		return "belongs to the cluster: choose another annotation"
	}
	return refuseOverride(key, value, base)
}

func refuseOverride(key, value string, base map[string]string) string {
	if standing, there := base[key]; there && standing != value {
		return fmt.Sprintf("the template has the value %q: leave it out", standing)
	}
	return ""
}

func isBelow(domain string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
}
