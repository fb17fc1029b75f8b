package preflight

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
)

type customResource = apiextensionsv1.CustomResourceDefinition

func findCRD(crds []customResource, name string) *customResource {
	for i := range crds {
		if crds[i].Name == name {
			return &crds[i]
		}
	}
	return nil
}

func storageVersion(crd *customResource) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

func versionIndex(crd *customResource, name string) int {
	return slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}

// servedVersion is the wanted version if it is served, else another that is; empty if none is.
func servedVersion(crd *customResource, want string) string {
	found := ""
	for _, version := range crd.Spec.Versions {
		switch {
		case version.Served && version.Name == want:
			return want
		case version.Served && found == "":
			found = version.Name
		}
	}
	return found
}

func describeCRD(crd *customResource) string { return "CRD " + crd.Name }

// eachCRD runs decide for every CRD of the target that the cluster has already.
func eachCRD(seen Seen, target Target, decide func(seen Seen, have, want *customResource) []Finding) []Finding {
	var findings []Finding
	for _, want := range target.crds() {
		if have := findCRD(seen.CRDs.Value, want.Name); have != nil {
			findings = append(findings, decide(seen, have, want)...)
		}
	}
	return findings
}

func checkCRDs(seen Seen, target Target) []Finding {
	if unknown := seen.CRDs.unknown("CRDs"); unknown != nil {
		return unknown
	}
	findings := eachCRD(seen, target, func(_ Seen, have, want *customResource) []Finding {
		return append(whose(have, want), compareFields(have, want)...)
	})
	if findings == nil {
		return []Finding{ok("CRDs", "none of the %d is there yet", len(target.crds()))}
	}
	return findings
}

// whose tells of a CRD that something else brought or keeps as it is.
func whose(have, want *customResource) []Finding {
	object := describeCRD(have)
	var findings []Finding
	say := ok
	if !isOurs(have, want) {
		say = warning
		findings = append(findings, warning(object,
			"somebody else's installation brought it. Installing takes it over, and its objects stay; do not remove that installation by its manifests afterwards, which takes the CRD and its objects with it"))
	}
	for _, keeper := range keepers(have) {
		findings = append(findings, say(object, "%s keeps it as it is, and may undo what kubectl applies: install by the same means", keeper))
	}
	return findings
}

// keepers are the tools that say, in an object's metadata, that they keep it as it is.
func keepers(crd *customResource) []string {
	var found []string
	if release := crd.Annotations["meta.helm.sh/release-name"]; release != "" {
		found = append(found, fmt.Sprintf("Helm's release %s in namespace %s", release, crd.Annotations["meta.helm.sh/release-namespace"]))
	}
	if flux := crd.Labels["kustomize.toolkit.fluxcd.io/name"]; flux != "" {
		found = append(found, "Flux's Kustomization "+flux)
	}
	if flux := crd.Labels["helm.toolkit.fluxcd.io/name"]; flux != "" {
		found = append(found, "Flux's HelmRelease "+flux)
	}
	if argo := crd.Annotations["argocd.argoproj.io/tracking-id"]; argo != "" {
		application, _, _ := strings.Cut(argo, ":")
		found = append(found, "Argo CD's Application "+application)
	}
	return found
}

// compareFields tells whether a CRD that is there is older or newer than ours, by the fields of its objects.
func compareFields(have, want *customResource) []Finding {
	object := describeCRD(have)
	older, newer := beyond(want, have), beyond(have, want)
	// Versions that are gone are for checkStoredVersions.
	newer = slices.DeleteFunc(newer, func(path string) bool {
		version, _, _ := strings.Cut(path, ".")
		return versionIndex(want, version) < 0
	})
	switch {
	case len(older) > 0 && len(newer) > 0:
		return []Finding{warning(object, "it differs from this release: it lacks %s, and has %s, which applying takes away", some(older), some(newer))}
	case len(older) > 0:
		return []Finding{warning(object, "it is older than this release and lacks %s: until it is applied, the API server drops these from objects", some(older))}
	case len(newer) > 0:
		return []Finding{warning(object, "it is newer than this release and has %s: applying takes these away, from objects that are written later, too", some(newer))}
	}
	return []Finding{ok(object, "it is there, with the fields of this release")}
}

// beyond are the paths of a CRD's schema that another one lacks; what lies below such a path is not listed.
func beyond(crd, other *customResource) []string {
	known := map[string]bool{}
	crdschema.Walk(other, func(field crdschema.Field) { known[field.Path] = true })
	var found []string
	crdschema.Walk(crd, func(field crdschema.Field) {
		below := slices.ContainsFunc(found, func(parent string) bool { return isBelow(field.Path, parent) })
		if !known[field.Path] && !below {
			found = append(found, field.Path)
		}
	})
	return found
}

func isBelow(path, parent string) bool {
	rest, found := strings.CutPrefix(path, parent)
	return found && rest != "" && strings.ContainsRune(".[{", rune(rest[0]))
}

func checkConversion(seen Seen, target Target) []Finding {
	if unknown := seen.CRDs.unknown("CRDs"); unknown != nil {
		return nil // told by checkCRDs
	}
	return eachCRD(seen, target, decideConversion)
}

// decideConversion: our CRDs have one version and convert nothing, but applying them leaves another's webhook in place.
func decideConversion(seen Seen, have, _ *customResource) []Finding {
	object := describeCRD(have)
	if have.Spec.Conversion == nil || have.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		return nil
	}
	wayOut := fmt.Sprintf(`kubectl patch crd %s --type=merge --patch '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`, have.Name)
	service, found := webhookService(have)
	if !found {
		return []Finding{warning(object, "a webhook outside the cluster converts its objects, which this release has no use for").with(wayOut)}
	}
	called := "Service " + service.String()
	if unknown := seen.Webhooks[service].unknown(called); unknown != nil {
		return unknown
	}
	if !seen.Webhooks[service].Value {
		return []Finding{blocked(object, "its objects are converted by a webhook at %s, which does not exist: objects of another version can be neither read nor written, not even deleted", called).with(wayOut)}
	}
	return []Finding{warning(object, "its objects are converted by a webhook at %s, of somebody else's installation: once that goes, objects of another version cannot be read any more. After the old versions are migrated, take it out", called).with(wayOut)}
}

func webhookService(crd *customResource) (types.NamespacedName, bool) {
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
		return types.NamespacedName{}, false
	}
	service := conversion.Webhook.ClientConfig.Service
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, true
}
