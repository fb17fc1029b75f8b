package integration_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// oddities are values that are near what a field of some type takes.
func oddities() []any {
	odd := []any{
		true, int64(0), int64(-1), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, int64(99999999999), int64(math.MaxInt64),
		0.5, 1e20, -1e300, "", "x", "-1", "1.5.", "1k", "5Gi", "0.1", "+.5e3", "1e3", "80", "http", []any{}, []any{"x"}, map[string]any{},
		"1e99999999999", "1e400", "1E-99999999999", "1e1.5", strings.Repeat("9", 100000), "0." + strings.Repeat("9", 100000),
		"AQID", "no base64!", "1h", "1h30m", "5 days",
	}
	for _, at := range []string{
		"2027-01-01T00:00:00Z", "2027-01-01t00:00:00z", "2027-01-01T00:00:00z", "2027-01-01T00:00:00.123456789123Z", "2027-01-01T00:00:00,5Z",
		"2027-01-01T00:00:00x5Z", "2027-01-01T00:00:00+14:00", "2027-01-01T00:00:00-23:59", "2027-01-01T00:00:00+24:00", "2027-01-01T00:00:00+99:99",
		"2027-01-01T24:00:00Z", "2027-01-01T23:59:60Z", "2027-02-29T00:00:00Z", "2027-01-01T00:00:00Ztail", "2027-01-01T00:00:00", "2027-01-01", "0000-01-01T00:00:00Z",
	} {
		odd = append(odd, at)
	}
	return odd
}

// field is a place in an object: what the API server admits there, and what Go reads it into.
type field struct {
	path   string
	schema *apiextensions.JSONSchemaProps
	into   reflect.Type
}

// descend calls visit for a field and all below it.
func descend(t *testing.T, f field, visit func(field)) {
	t.Helper()
	for f.into.Kind() == reflect.Pointer {
		f.into = f.into.Elem()
	}
	visit(f)
	for name := range f.schema.Properties {
		if f.path == "" && name == "metadata" {
			continue // The API server reads that one into the same type.
		}
		child := f.schema.Properties[name]
		member, found := jsonMember(f.into, name)
		if !found {
			t.Errorf("%s.%s is in the schema and not in %s", f.path, name, f.into)
			continue
		}
		descend(t, field{f.path + "." + name, &child, member}, visit)
	}
	if f.schema.Items != nil && f.schema.Items.Schema != nil {
		descend(t, field{f.path + "[]", f.schema.Items.Schema, f.into.Elem()}, visit)
	}
	if f.schema.AdditionalProperties != nil && f.schema.AdditionalProperties.Schema != nil {
		descend(t, field{f.path + "{}", f.schema.AdditionalProperties.Schema, f.into.Elem()}, visit)
	}
}

// jsonMember is the type of the member of a struct that has a name in JSON, those of embedded structs included.
func jsonMember(of reflect.Type, name string) (reflect.Type, bool) {
	for _, member := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if tag == name {
			return member.Type, true
		}
	}
	return nil, false
}

// Whatever the API server admits into any field, the controllers can read: else that one object kept them from all of its kind.
func TestWhatIsAdmittedCanBeRead(t *testing.T) {
	kinds := map[string]any{
		"core/crd/agents.x-k8s.io_sandboxes.yaml":                         sandboxv1beta1.Sandbox{},
		"extensions/crd/extensions.agents.x-k8s.io_sandboxclaims.yaml":    extensionsv1beta1.SandboxClaim{},
		"extensions/crd/extensions.agents.x-k8s.io_sandboxtemplates.yaml": extensionsv1beta1.SandboxTemplate{},
		"extensions/crd/extensions.agents.x-k8s.io_sandboxwarmpools.yaml": extensionsv1beta1.SandboxWarmPool{},
	}
	for file, into := range kinds {
		t.Run(filepath.Base(file), func(t *testing.T) {
			fields, admitted := 0, 0
			descend(t, field{"", schemaIn(t, file), reflect.TypeOf(into)}, func(f field) {
				fields++
				admitted += readAllAdmitted(t, f)
			})
			t.Logf("%d fields, %d odd values admitted", fields, admitted)
			if fields < 10 || admitted < fields {
				t.Error("hardly anything was tried")
			}
		})
	}
}

func schemaIn(t *testing.T, file string) *apiextensions.JSONSchemaProps {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "kustomize", "base", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	schema := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, schema, nil); err != nil {
		t.Fatal(err)
	}
	return schema
}

// readAllAdmitted returns how many odd values the API server admits into a field; each must be readable, and soon.
func readAllAdmitted(t *testing.T, f field) int {
	t.Helper()
	holder := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"value": *f.schema}}
	validator, _, err := validation.NewSchemaValidator(holder)
	if err != nil {
		t.Fatal(err)
	}
	admitted := 0
	for _, value := range oddities() {
		if errs := validation.ValidateCustomResource(nil, map[string]any{"value": value}, validator); len(errs) > 0 {
			continue
		}
		admitted++
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := json.Unmarshal(raw, reflect.New(f.into).Interface()); err != nil || time.Since(begin) > time.Second {
			t.Errorf("%s admits %.60s, and reading it takes %s: %v", f.path, raw, time.Since(begin), err)
		}
	}
	return admitted
}

// What the schema says is what the API server does.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	for name, tc := range map[string]struct{ patch, names string }{
		"a time in lower case":      {`{"spec":{"shutdownTime":"2027-01-01t00:00:00z"}}`, "spec.shutdownTime"},
		"a time with a tail":        {`{"spec":{"shutdownTime":"2027-01-01T00:00:00ZTx"}}`, "spec.shutdownTime"},
		"a time that is no list":    {`{"spec":{"shutdownTime":[]}}`, "spec.shutdownTime"},
		"a time that is a list":     {`{"spec":{"shutdownTime":["x"]}}`, "spec.shutdownTime"},
		"a port beyond 32 bits":     {`{"spec":{"podTemplate":{"spec":{"containers":[{"name":"main","image":"i","livenessProbe":{"httpGet":{"port":99999999999}}}]}}}}`, "livenessProbe.httpGet.port"},
		"a quantity without bounds": {`{"spec":{"podTemplate":{"spec":{"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1e99999999999"}}}]}}}}`, "resources.requests.cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			box := fixture.Sandbox(namespace, strings.ReplaceAll(name, " ", "-"))
			if err := user.Create(t.Context(), box); err != nil {
				t.Fatal(err)
			}
			err := user.Patch(t.Context(), box, client.RawPatch(types.MergePatchType, []byte(tc.patch)))
			checkRefused(t, err, tc.names)
			if !apierrors.IsInvalid(err) {
				t.Errorf("it is not the API server that says: %v", err)
			}
		})
	}
}
