package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Object is one document of a rendered asset.
type Object struct {
	// Kind is the group, version and kind as written.
	Kind schema.GroupVersionKind
	// Meta is the object's metadata.
	Meta metav1.Object
	// Typed is the object as its Go type from the Kubernetes API.
	Typed runtime.Object
	// YAML is the document as it stands in the file.
	YAML []byte
}

// ID names the object by group, kind, namespace and name: what an API server holds once.
func (o Object) ID() string {
	name := o.Meta.GetName()
	if namespace := o.Meta.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return o.Kind.GroupKind().String() + " " + name
}

// Asset is one file of manifests that is applied as a whole.
type Asset struct {
	// Name of the asset, as its file is called.
	Name string
	// Objects in the order of the file.
	Objects []Object
}

// Parse reads all documents of an asset. Documents that are empty or only comments are skipped. An unknown kind,
// an unknown or doubled field and a value of the wrong type are errors that name the document, counted from 1.
func Parse(name string, content []byte) (Asset, error) {
	asset := Asset{Name: name}
	decoder := serializer.NewCodecFactory(knownTypes(), serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return asset, nil
		}
		if err != nil {
			return Asset{}, fmt.Errorf("reading document %d of %s: %w", number, name, err)
		}
		if isEmpty(document) {
			continue
		}
		typed, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return Asset{}, fmt.Errorf("decoding document %d of %s: %w", number, name, err)
		}
		accessor, err := meta.Accessor(typed)
		if err != nil {
			return Asset{}, fmt.Errorf("reading the metadata of document %d of %s: %w", number, name, err)
		}
		asset.Objects = append(asset.Objects, Object{Kind: *kind, Meta: accessor, Typed: typed, YAML: document})
	}
}

func isEmpty(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// knownTypes holds the kinds that the rules understand. A kind that brings Pods of its own in a way that the
// rules do not look into must not be added here alone.
func knownTypes() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Namespace{}, &corev1.ServiceAccount{}, &corev1.Service{}, &corev1.ConfigMap{})
	scheme.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{})
	scheme.AddKnownTypes(batchv1.SchemeGroupVersion, &batchv1.Job{})
	scheme.AddKnownTypes(rbacv1.SchemeGroupVersion, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.Role{}, &rbacv1.RoleBinding{})
	scheme.AddKnownTypes(apiextensionsv1.SchemeGroupVersion, &apiextensionsv1.CustomResourceDefinition{})
	scheme.AddKnownTypes(admissionregistrationv1.SchemeGroupVersion,
		&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
	scheme.AddKnownTypes(networkingv1.SchemeGroupVersion, &networkingv1.NetworkPolicy{})
	scheme.AddKnownTypes(policyv1.SchemeGroupVersion, &policyv1.PodDisruptionBudget{})
	return scheme
}
