package preflight

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

const sandboxes = "sandboxes.agents.x-k8s.io"

// add puts the CRD of Sandboxes on a cluster as this release has it, but for what edit changes, with so many objects.
func (s *Seen) add(target Target, objects int, edit func(*customResource)) {
	crd := target.crds()[0].DeepCopy()
	crd.Status.StoredVersions = []string{"v1beta1"}
	edit(crd)
	s.CRDs.Value = append(s.CRDs.Value, *crd)
	s.Stored[crd.Name] = Answer[[]Stored]{Value: make([]Stored, objects)}
}

// olderVersion puts v1alpha1 before v1beta1.
func olderVersion(served, stored bool) func(*customResource) {
	return func(crd *customResource) {
		current := crd.Spec.Versions[0]
		current.Served, current.Storage = served, !stored
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true, Storage: stored, Schema: current.Schema}, current}
		crd.Status.StoredVersions = []string{"v1alpha1", "v1beta1"}
	}
}

func byWebhook(crd *customResource) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{
			Service: &apiextensionsv1.ServiceReference{Namespace: "other", Name: "webhook"},
		}},
	}
}

// A7.13: the API server refuses our CRDs while an old version is in status.storedVersions.
func TestOldStoredVersionsAreTold(t *testing.T) {
	target := targetOf(t, Sandbox, DefaultNamespace)
	blocked := []string{"blocked stored-versions CRD " + sandboxes}
	decide(t, target, map[string]change{
		"only versions of this release": {amiss: func(seen *Seen) { seen.add(target, 3, func(*customResource) {}) }},
		"objects that may be stored in an old one are written anew": {
			amiss: func(seen *Seen) { seen.add(target, 3, olderVersion(true, false)) }, want: blocked,
			says: "Rewrite its 3 objects as v1beta1, then take v1alpha1 out of status.storedVersions",
			wayOut: "kubectl get sandboxes.v1beta1.agents.x-k8s.io --all-namespaces --output json | kubectl replace --filename -\n" +
				`kubectl patch crd sandboxes.agents.x-k8s.io --subresource=status --type=merge --patch '{"status":{"storedVersions":["v1beta1"]}}'`,
		},
		"without an object nothing is written anew": {
			amiss: func(seen *Seen) { seen.add(target, 0, olderVersion(true, false)) }, want: blocked, says: "Rewrite its 0 objects",
			wayOut: "\nkubectl patch crd sandboxes.agents.x-k8s.io --subresource=status",
		},
		"the version that is stored from now on comes first": {
			amiss: func(seen *Seen) { seen.add(target, 1, olderVersion(true, true)) }, want: blocked,
			wayOut: `kubectl patch crd sandboxes.agents.x-k8s.io --type=json --patch '[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]'` + "\nsleep 5\nkubectl get",
		},
		"what does not serve the new version cannot be migrated": {
			amiss: func(seen *Seen) { seen.add(target, 2, olderVersion(false, true)) }, want: blocked,
			says: "It does not serve v1beta1 either, so that its 2 objects cannot be rewritten", wayOut: "output yaml > sandboxes.yaml\nkubectl delete crd sandboxes.agents.x-k8s.io",
		},
		"and is deleted where it has no object": {
			amiss: func(seen *Seen) { seen.add(target, 0, olderVersion(false, true)) }, want: blocked,
			says: "It has no object: delete it", wayOut: "\nkubectl delete crd sandboxes.agents.x-k8s.io",
		},
		"objects that one may not read are told of, too": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, olderVersion(true, false))
				seen.Stored[sandboxes] = Answer[[]Stored]{Denied: &Right{Verb: "list", Group: "agents.x-k8s.io", Resource: "sandboxes", Namespace: AllNamespaces}}
			},
			want: append(blocked, "unknown stored-versions CRD "+sandboxes, "unknown runtime-classes objects of "+sandboxes),
			says: "since you may not list sandboxes.agents.x-k8s.io in all namespaces",
		},
	})
}

func TestOthersCRDsAreTold(t *testing.T) {
	target := targetOf(t, Sandbox, DefaultNamespace)
	warned := []string{"warning crds CRD " + sandboxes}
	decide(t, target, map[string]change{
		"somebody else's": {
			amiss: func(seen *Seen) { seen.add(target, 0, func(crd *customResource) { crd.Labels = nil }) },
			want:  warned, says: "somebody else's installation brought it",
		},
		"kept by Helm, as somebody else's": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) {
					crd.Labels = nil
					crd.Annotations = map[string]string{"meta.helm.sh/release-name": "boxes", "meta.helm.sh/release-namespace": "other"}
				})
			},
			want: append(warned, warned...), says: "Helm's release boxes in namespace other keeps it",
		},
		"kept by Flux, as ours": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) { crd.Labels["kustomize.toolkit.fluxcd.io/name"] = "boxes" })
			},
			says: "Flux's Kustomization boxes keeps it",
		},
		"kept by Argo CD, as ours": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) { crd.Annotations["argocd.argoproj.io/tracking-id"] = "boxes:x/y:z/n" })
			},
			says: "Argo CD's Application boxes keeps it",
		},
		"older than this release": {
			amiss: func(seen *Seen) { seen.add(target, 0, without("podFailurePolicy")) },
			want:  warned, says: "it is older than this release and lacks v1beta1.spec.podFailurePolicy:",
		},
		"newer than this release": {
			amiss: func(seen *Seen) { seen.add(target, 0, with("later")) },
			want:  warned, says: "it is newer than this release and has v1beta1.spec.later:",
		},
		"different from this release": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) {
					with("later")(crd)
					without("podTemplate")(crd)
				})
			},
			want: warned, says: "it lacks v1beta1.spec.podTemplate, and has v1beta1.spec.later,",
		},
		"without one version of ours": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) { crd.Spec.Versions[0].Name = "v2" })
			},
			want: warned, says: "lacks v1beta1:",
		},
	})
}

func without(property string) func(*customResource) {
	return func(crd *customResource) { delete(specOf(crd).Properties, property) }
}

func with(property string) func(*customResource) {
	return func(crd *customResource) {
		specOf(crd).Properties[property] = apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"below": {Type: "string"}},
		}
	}
}

func specOf(crd *customResource) apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

func TestConversionByOthersIsTold(t *testing.T) {
	target := targetOf(t, Sandbox, DefaultNamespace)
	service := types.NamespacedName{Namespace: "other", Name: "webhook"}
	says := func(result Result) []string {
		return []string{string(result) + " conversion-webhook CRD " + sandboxes}
	}
	decide(t, target, map[string]change{
		"a Service that does not exist": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, byWebhook)
				seen.Webhooks[service] = Answer[bool]{}
			},
			want: says(Blocked), says: "a webhook at Service other/webhook, which does not exist",
			wayOut: `kubectl patch crd sandboxes.agents.x-k8s.io --type=merge --patch '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`,
		},
		"a Service that does": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, byWebhook)
				seen.Webhooks[service] = Answer[bool]{Value: true}
			},
			want: says(Warning), says: "once that goes, objects of another version cannot be read any more",
		},
		"a Service that one may not look for": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, byWebhook)
				seen.Webhooks[service] = Answer[bool]{Denied: &Right{Verb: "get", Resource: "services", Namespace: "other", Name: "webhook"}}
			},
			want: []string{"unknown conversion-webhook Service other/webhook"}, says: "you may not get services webhook in namespace other",
		},
		"a webhook outside the cluster": {
			amiss: func(seen *Seen) {
				seen.add(target, 0, func(crd *customResource) {
					byWebhook(crd)
					crd.Spec.Conversion.Webhook.ClientConfig.Service = nil
				})
			},
			want: says(Warning), says: "outside the cluster",
		},
	})
}

func TestAVersionIsServed(t *testing.T) {
	crd := targetOf(t, Sandbox, DefaultNamespace).crds()[0].DeepCopy()
	olderVersion(true, false)(crd)
	got := []string{servedVersion(crd, "v1beta1"), servedVersion(crd, "v9")}
	crd.Spec.Versions = nil
	if got = append(got, servedVersion(crd, "v1beta1")); !slices.Equal(got, []string{"v1beta1", "v1alpha1", ""}) {
		t.Errorf("served: %q", got)
	}
}
