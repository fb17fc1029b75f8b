package crdschema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
)

type (
	schema  = apiextensionsv1.JSONSchemaProps
	schemas = map[string]schema
)

func described(properties schemas) schema {
	return schema{Description: "ours", Properties: properties}
}

// podSpec has a volume that embeds a claim's spec, as PodSpec does.
func podSpec() schema {
	return described(schemas{
		"containers": {Description: "theirs", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Description: "theirs"}}},
		"nodeName":   {Description: "theirs"},
		"nodeSelector": {Description: "theirs", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
			Allows: true, Schema: &schema{Description: "theirs"},
		}},
		"restartPolicy": {Description: "theirs"},
	})
}

func claimSpec() schema {
	return described(schemas{"accessModes": {Description: "theirs"}, "storageClassName": {Description: "theirs"}, "volumeName": {Description: "theirs"}})
}

func definition(root schema) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things.example.com"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root}},
		{Name: "v0"},
	}
	return crd
}

func TestStripTouchesEmbeddedFieldsAlone(t *testing.T) {
	crd := definition(described(schemas{
		"podTemplate": described(schemas{"spec": podSpec()}),
		"claims":      {Description: "ours", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Properties: schemas{"spec": claimSpec()}}}},
		// A status like that of a PersistentVolumeClaim has one property of its spec, but is not one.
		"status": described(schemas{"accessModes": described(nil), "containers": described(nil)}),
	}))
	crdschema.Strip(crd)
	got := map[string]string{}
	crdschema.Walk(crd, func(field crdschema.Field) { got[field.Path] = field.Schema.Description })
	want := map[string]string{
		"v1": "ours", "v1.claims": "ours", "v1.claims[]": "", "v1.claims[].spec": "ours",
		"v1.claims[].spec.accessModes": "", "v1.claims[].spec.storageClassName": "", "v1.claims[].spec.volumeName": "",
		"v1.podTemplate": "ours", "v1.podTemplate.spec": "ours",
		"v1.podTemplate.spec.containers": "", "v1.podTemplate.spec.containers[]": "", "v1.podTemplate.spec.nodeName": "",
		"v1.podTemplate.spec.nodeSelector": "", "v1.podTemplate.spec.nodeSelector{}": "", "v1.podTemplate.spec.restartPolicy": "",
		"v1.status": "ours", "v1.status.accessModes": "ours", "v1.status.containers": "ours",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("descriptions (-want +got):\n%s", difference)
	}
}

func TestProcessRefusesWhatClientSideApplyCannotStore(t *testing.T) {
	small := described(nil)
	small.Type = "object"
	big := small
	big.Description = strings.Repeat("long ", crdschema.MaxBytes/5)
	for name, test := range map[string]struct {
		file func() []byte
		want string
	}{
		"a file of usual size passes":  {func() []byte { return file(t, definition(small)) }, ""},
		"a description that fills all": {func() []byte { return file(t, definition(big)) }, "shorten its descriptions"},
		"a field that no CRD has":      {func() []byte { return []byte("spec: {gruop: a}") }, "gruop"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := crdschema.Process(test.file())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func file(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []byte {
	t.Helper()
	content, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
