package preflight

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// oldestKubernetes is the first that has ValidatingAdmissionPolicy in admissionregistration.k8s.io/v1, and takes what the rules in
// our CRDs and policies use: optional values, strings.quote and optionalOldSelf.
const oldestKubernetes = "1.30"

func checkVersion(seen Seen, _ Target) []Finding {
	const object = "Kubernetes"
	if unknown := seen.Version.unknown(object); unknown != nil {
		return unknown
	}
	told := seen.Version.Value.GitVersion
	parsed, err := utilversion.ParseGeneric(told)
	if err != nil {
		return []Finding{warning(object, "it calls itself %q, which is no version: this needs Kubernetes %s or later", told, oldestKubernetes)}
	}
	if parsed.LessThan(utilversion.MustParseGeneric(oldestKubernetes)) {
		return []Finding{blocked(object+" "+told, "this needs %s or later, for admission policies and the rules in the CRDs: upgrade the cluster", oldestKubernetes)}
	}
	return []Finding{ok(object+" "+told, "this needs %s or later", oldestKubernetes)}
}

// need is a resource that has to be served. Without a version, any will do.
type need struct {
	resource schema.GroupVersionResource
	what     string
}

// needs are the kinds that are installed and those that the controllers have rights to, but for our own.
func (t Target) needs() []need {
	var all []need
	for _, object := range t.objects {
		all = append(all, need{resourceOf(object.Kind), "it is part of what is installed"})
	}
	for _, role := range ofType[*rbacv1.ClusterRole](t) {
		for _, right := range rightsOf(role.Rules, "") {
			resource, _, _ := strings.Cut(right.Resource, "/")
			all = append(all, need{schema.GroupVersionResource{Group: right.Group, Resource: resource}, "the controllers work with it"})
		}
	}
	var others []need
	for _, need := range all {
		known := slices.ContainsFunc(others, need.sameResource)
		own := slices.ContainsFunc(t.crds(), func(crd *customResource) bool { return crd.Spec.Group == need.resource.Group })
		if !known && !own {
			others = append(others, need)
		}
	}
	return others
}

func (n need) sameResource(other need) bool {
	return n.resource.GroupResource() == other.resource.GroupResource()
}

func checkAPIs(seen Seen, target Target) []Finding {
	needs := target.needs()
	if unknown := seen.APIs.unknown("APIs"); unknown != nil {
		return unknown
	}
	var findings []Finding
	for _, need := range needs {
		if !serves(seen.APIs.Value, need.resource) {
			findings = append(findings, blocked(nameOf(need.resource), "this API is not served, and %s: use Kubernetes %s or later, with its APIs as they are by default", need.what, oldestKubernetes))
		}
	}
	if findings == nil {
		return []Finding{ok("APIs", "all %d kinds that are needed are served", len(needs))}
	}
	return findings
}

// nameOf is the resource as kubectl names it, with its version if that matters.
func nameOf(resource schema.GroupVersionResource) string {
	text := resource.GroupResource().String()
	if resource.Version != "" {
		text += " " + resource.Version
	}
	return text
}

func serves(lists []*metav1.APIResourceList, want schema.GroupVersionResource) bool {
	for _, list := range lists {
		at, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || at.Group != want.Group || want.Version != "" && at.Version != want.Version {
			continue
		}
		if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == want.Resource }) {
			return true
		}
	}
	return false
}
