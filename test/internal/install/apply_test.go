package install_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const thing = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
---
# nothing but a comment
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: one, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: default}
data: {key: value}
`

func TestApplyServesWhatACRDBringsAndHealsFields(t *testing.T) {
	clientset, err := kubernetes.NewForConfig(apiServer.Config)
	if err != nil {
		t.Fatal(err)
	}
	maps := clientset.CoreV1().ConfigMaps("default")
	for range 2 {
		if err := install.Apply(t.Context(), apiServer.Config, []byte(thing)); err != nil {
			t.Fatal(err)
		}
		seen, err := maps.Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"key": "value"}, seen.Data); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
		seen.Data["key"] = "changed by another"
		if _, err := maps.Update(t.Context(), seen, metav1.UpdateOptions{FieldManager: "another"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestApplyNamesTheObjectThatIsRefused(t *testing.T) {
	cases := map[string]struct{ manifest, want string }{
		"an invalid object": {
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: {ports: [{port: 0}]}\n", "applying Service default/s: ",
		},
		"an unknown kind": {
			"apiVersion: example.com/v9\nkind: Nothing\nmetadata: {name: none}\n", "applying Nothing none: finding the resource of its kind",
		},
		"an object without a name": {"apiVersion: v1\nkind: Pod\n", "document 1 of the manifest: an object needs"},
		"no YAML":                  {"a: b\n---\n{", "document 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := install.Apply(t.Context(), apiServer.Config, []byte(c.manifest))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to contain %q", err, c.want)
			}
		})
	}
}

func TestWithoutReplicasTouchesDeploymentsOnly(t *testing.T) {
	objects, err := install.Parse(asset(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	if err := install.WithoutReplicas(objects); err != nil {
		t.Fatal(err)
	}
	deployments := 0
	for _, object := range objects {
		replicas, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
		if err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "Deployment" {
			deployments++
		}
		if (object.GetKind() == "Deployment") != found || replicas != 0 {
			t.Errorf("%s %s has replicas %d, set: %t", object.GetKind(), object.GetName(), replicas, found)
		}
	}
	if deployments != 2 {
		t.Errorf("%d Deployments in the asset, want 2", deployments)
	}
}
