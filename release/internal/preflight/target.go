package preflight

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/agent-sandbox/release"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// Scope says what is to be installed.
type Scope string

const (
	// Sandbox is the core alone: sandbox.yaml.
	Sandbox Scope = "sandbox"
	// Extensions is the core with templates, warm pools and claims: sandbox-with-extensions.yaml.
	Extensions Scope = "extensions"
)

// DefaultNamespace is where the assets install the controllers.
const DefaultNamespace = "agent-sandbox-system"

const partOfLabel, nameLabel = "app.kubernetes.io/part-of", "app.kubernetes.io/name"

// Target is what is to be installed, and where.
type Target struct {
	namespace string
	objects   []manifest.Object
}

// NewTarget reads what is to be installed from the assets of this release. The namespace is that of the controllers.
func NewTarget(scope Scope, namespace string) (Target, error) {
	assets := []string{string(Sandbox)}
	switch scope {
	case Sandbox:
	case Extensions:
		assets = append(assets, string(Extensions))
	default:
		return Target{}, fmt.Errorf("%q cannot be installed: choose %s or %s", scope, Sandbox, Extensions)
	}
	target := Target{namespace: namespace}
	for _, asset := range assets {
		content, err := release.Asset(asset)
		if err != nil {
			return Target{}, err
		}
		parsed, err := manifest.Parse(asset+".yaml", content)
		if err != nil {
			return Target{}, err
		}
		target.objects = append(target.objects, parsed.Objects...)
	}
	for _, object := range target.objects {
		if object.Meta.GetNamespace() != "" {
			object.Meta.SetNamespace(namespace)
		}
		if object.Kind.Kind == "Namespace" {
			object.Meta.SetName(namespace)
		}
	}
	return target, nil
}

// ofType returns the target's objects of one type.
func ofType[T any](target Target) []T {
	var found []T
	for _, object := range target.objects {
		if typed, ok := object.Typed.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

func (t Target) crds() []*apiextensionsv1.CustomResourceDefinition {
	return ofType[*apiextensionsv1.CustomResourceDefinition](t)
}

func (t Target) deployments() []*appsv1.Deployment { return ofType[*appsv1.Deployment](t) }

// pods are one Pod of each Deployment: what a first installation asks for, and what an upgrade asks for beside the old one.
func (t Target) pods() []corev1.PodTemplateSpec {
	var pods []corev1.PodTemplateSpec
	for _, deployment := range t.deployments() {
		template := *deployment.Spec.Template.DeepCopy()
		template.Namespace, template.Name = deployment.Namespace, deployment.Name
		pods = append(pods, template)
	}
	return pods
}

// resourceOf is what the API calls the objects of a kind.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural
}

// installRights are what kubectl apply needs, each once.
func (t Target) installRights() []Right {
	var rights []Right
	for _, object := range t.objects {
		for _, verb := range []string{"get", "create", "patch"} {
			on := resourceOf(object.Kind)
			right := Right{Verb: verb, Group: on.Group, Resource: on.Resource, Namespace: object.Meta.GetNamespace()}
			if !slices.Contains(rights, right) {
				rights = append(rights, right)
			}
		}
	}
	return rights
}

// grantRights let somebody give rights away that they do not have themselves.
func (t Target) grantRights() []Right {
	var rights []Right
	for _, verb := range []string{"escalate", "bind"} {
		rights = append(rights,
			Right{Verb: verb, Group: rbacv1.GroupName, Resource: "clusterroles"},
			Right{Verb: verb, Group: rbacv1.GroupName, Resource: "roles", Namespace: t.namespace})
	}
	return rights
}

// grantedRights are those that the roles give to the controllers. Who lacks grantRights must have each of them.
func (t Target) grantedRights() []Right {
	var rights []Right
	for _, role := range ofType[*rbacv1.ClusterRole](t) {
		rights = append(rights, rightsOf(role.Rules, "")...)
	}
	for _, role := range ofType[*rbacv1.Role](t) {
		rights = append(rights, rightsOf(role.Rules, t.namespace)...)
	}
	return rights
}

func rightsOf(rules []rbacv1.PolicyRule, namespace string) []Right {
	var rights []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, on := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, Right{Verb: verb, Group: group, Resource: on, Namespace: namespace})
				}
			}
		}
	}
	return rights
}

// isOurs says whether an object carries the labels of the one that is to be installed.
func isOurs(have, want metav1.Object) bool {
	return have.GetLabels()[partOfLabel] == want.GetLabels()[partOfLabel] && have.GetLabels()[nameLabel] == want.GetLabels()[nameLabel]
}
