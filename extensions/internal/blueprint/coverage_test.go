package blueprint

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// deepest is how many types within types are looked into.
const deepest = 12

// field is one of a type, or of what that holds.
type field struct {
	path string
	// in returns it in a value, whose other fields stay empty but for those on the way.
	in func(reflect.Value) reflect.Value
}

// fields are those of a type and of what it holds, of every type on the way once.
func fields(of reflect.Type, path string, within []reflect.Type) []field {
	if len(within) > deepest {
		return nil
	}
	for _, outer := range within {
		if outer == of {
			return nil
		}
	}
	within = append(within[:len(within):len(within)], of)
	switch of.Kind() {
	case reflect.Struct:
		if isWhole(of) {
			return nil
		}
		var all []field
		for i := range of.NumField() {
			inner := func(v reflect.Value) reflect.Value { return v.Field(i) }
			all = append(all, through(fieldsOf(of.Field(i), path, within), inner)...)
		}
		return all
	case reflect.Pointer:
		return through(fields(of.Elem(), path, within), func(v reflect.Value) reflect.Value {
			v.Set(reflect.New(of.Elem()))
			return v.Elem()
		})
	case reflect.Slice:
		return through(fields(of.Elem(), path+"[0]", within), func(v reflect.Value) reflect.Value {
			v.Set(reflect.MakeSlice(of, 1, 1))
			return v.Index(0)
		})
	default:
		return nil
	}
}

// isWhole says whether a type is written as one value.
func isWhole(of reflect.Type) bool {
	return of == reflect.TypeFor[resource.Quantity]() || of == reflect.TypeFor[intstr.IntOrString]() || of == reflect.TypeFor[metav1.Time]()
}

// fieldsOf are a field, unless it is only where others are, and those within.
func fieldsOf(of reflect.StructField, path string, within []reflect.Type) []field {
	path = strings.TrimPrefix(path+"."+of.Name, ".")
	all := fields(of.Type, path, within)
	if of.Type.Kind() == reflect.Struct && !isWhole(of.Type) {
		return all
	}
	return append(all, field{path, func(v reflect.Value) reflect.Value { return v }})
}

// through reaches the fields of an inner value.
func through(all []field, inner func(reflect.Value) reflect.Value) []field {
	for i := range all {
		in := all[i].in
		all[i].in = func(v reflect.Value) reflect.Value { return in(inner(v)) }
	}
	return all
}

// fill gives a value that says something.
func fill(v reflect.Value) {
	switch whole := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*whole = resource.MustParse("7")
		return
	case *intstr.IntOrString:
		*whole = intstr.FromInt32(7)
		return
	case *metav1.Time:
		*whole = metav1.Unix(7, 0)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("changed")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	}
}

// A4.13: what decides about a member's age is every field of the blueprint, save for the Pod's metadata. Whatever field is added to
// one of its types is part of this test.
func TestEveryFieldOfTheBlueprintIsCompared(t *testing.T) {
	all := fields(reflect.TypeFor[extensionsv1beta1.SandboxBlueprint](), "", nil)
	// There are the fields of the blueprint, of a Pod, of its containers and volumes, and of disks.
	if len(all) < 300 {
		t.Fatalf("%d fields", len(all))
	}
	for _, field := range all {
		t.Run(field.path, func(t *testing.T) { checkCompared(t, field) })
	}
}

func checkCompared(t *testing.T, field field) {
	t.Helper()
	old, changed := bareTemplate(), bareTemplate()
	field.in(reflect.ValueOf(&old.Spec.SandboxBlueprint).Elem())
	fill(field.in(reflect.ValueOf(&changed.Spec.SandboxBlueprint).Elem()))
	oldHash, newHash := hashOf(t, old), hashOf(t, changed)
	metadata := strings.HasPrefix(field.path, "PodTemplate.Metadata")
	if (oldHash == newHash) != metadata {
		t.Errorf("the hash changes: %v", oldHash != newHash)
	}
	// One without a hash is compared in full, one with a hash by that.
	for name, box := range map[string]*sandboxv1beta1.Sandbox{"without a hash": build(old), "with a hash": labelled(build(old), oldHash)} {
		if fresh := IsFresh(box, changed, newHash); fresh != metadata {
			t.Errorf("%s, fresh: %v", name, fresh)
		}
	}
	if !IsFresh(labelled(build(changed), newHash), changed, newHash) || !IsFresh(build(changed), changed, newHash) {
		t.Error("what it builds itself is stale")
	}
}

func bareTemplate() *extensionsv1beta1.SandboxTemplate {
	return template(func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
		t.Spec.PodTemplate.Spec = corev1.PodSpec{AutomountServiceAccountToken: ptr.To(true), DNSPolicy: corev1.DNSDefault}
	})
}

func labelled(box *sandboxv1beta1.Sandbox, hash string) *sandboxv1beta1.Sandbox {
	box.Labels[extensionsv1beta1.LabelTemplateHash] = hash
	return box
}

func hashOf(t *testing.T, template *extensionsv1beta1.SandboxTemplate) string {
	t.Helper()
	hash, err := Hash(template)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// A4.13: what the blueprint has no word for, a Sandbox has from elsewhere: a field of the spec that is added is built from the
// blueprint, or named here.
func TestEveryFieldOfTheSpecIsBuiltOrNamed(t *testing.T) {
	elsewhere := map[string]string{
		"OperatingMode":  "every Sandbox that is built runs",
		"ShutdownTime":   "a claim expires, its Sandbox does not",
		"ShutdownPolicy": "likewise",
	}
	blueprint, spec := reflect.TypeFor[extensionsv1beta1.SandboxBlueprint](), reflect.TypeFor[sandboxv1beta1.SandboxSpec]()
	template := bareTemplate()
	for i := range blueprint.NumField() {
		fill(reflect.ValueOf(&template.Spec.SandboxBlueprint).Elem().Field(i))
	}
	template.Spec.PodTemplate.Spec.NodeName = "changed"
	built := reflect.ValueOf(build(template).Spec)
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		field, inBlueprint := blueprint.FieldByName(name)
		_, named := elsewhere[name]
		switch {
		case inBlueprint == named:
			t.Errorf("SandboxSpec.%s: in the blueprint %v, named here %v", name, inBlueprint, named)
		case inBlueprint && (field.Type != spec.Field(i).Type || built.Field(i).IsZero()):
			t.Errorf("SandboxSpec.%s is not built from the blueprint", name)
		}
	}
}
