package render_test

import (
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// Whoever installs an asset in another namespace does it as docs/security.md says.
const elsewhere = `namespace: elsewhere
resources: [asset.yaml]
patches:
- target: {kind: ValidatingAdmissionPolicyBinding, name: agent-sandbox-warm-pool-limits}
  patch: |
    - {op: replace, path: /spec/paramRef/namespace, value: elsewhere}
`

func TestPoliciesFollowTheNamespaceOfAnOverlay(t *testing.T) {
	trusted, limits := false, false
	for _, object := range overAsset(t, "sandbox-with-extensions", elsewhere).Objects {
		switch typed := object.Typed.(type) {
		case *rbacv1.ClusterRoleBinding:
			for _, subject := range typed.Subjects {
				if subject.Namespace != "elsewhere" {
					t.Errorf("%s binds %s of namespace %s", object.ID(), subject.Name, subject.Namespace)
				}
			}
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			// The one names the object above, which says who is trusted; the other says where its ConfigMap is.
			trusted = trusted || typed.Spec.ParamRef.Name == "agent-sandbox-controller"
			limits = limits || typed.Spec.ParamRef.Namespace == "elsewhere"
		}
	}
	if !trusted || !limits {
		t.Errorf("the trusted accounts follow: %t, the limits of pools: %t", trusted, limits)
	}
}

const withoutPolicies = `resources: [asset.yaml]
patches:
- target: {kind: ValidatingAdmissionPolicy.*}
  patch: |
    $patch: delete
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicy
    metadata: {name: any}
`

func TestAnOverlayTakesThePoliciesOut(t *testing.T) {
	before := len(readAsset(t, "sandbox-with-extensions").Objects)
	asset := overAsset(t, "sandbox-with-extensions", withoutPolicies)
	if len(asset.Objects) != before-4 {
		t.Errorf("%d of %d objects are left, want all but 4", len(asset.Objects), before)
	}
	for _, object := range asset.Objects {
		if object.Kind.Group == admissionregistrationv1.GroupName {
			t.Errorf("%s is still there", object.ID())
		}
	}
}

// overAsset builds a kustomization over a golden copy, which lies beside it as asset.yaml.
func overAsset(t *testing.T, name, kustomization string) manifest.Asset {
	t.Helper()
	var content []byte
	for _, object := range readAsset(t, name).Objects {
		content = append(append(content, "---\n"...), object.YAML...)
	}
	files := filesys.MakeFsInMemory()
	for file, text := range map[string][]byte{"asset.yaml": content, "kustomization.yaml": []byte(kustomization)} {
		if err := files.WriteFile(filepath.Join("/over", file), text); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/over")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}
