package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

func TestParseReadsTypedObjectsInTheOrderOfTheFile(t *testing.T) {
	asset, err := manifest.Parse("a.yaml", []byte(`# a comment
---
apiVersion: v1
kind: Namespace
metadata:
  name: a
---
# nothing here
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: b
  namespace: a
`))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, object := range asset.Objects {
		ids = append(ids, object.ID())
	}
	if difference := cmp.Diff([]string{"Namespace a", "Role.rbac.authorization.k8s.io a/b"}, ids); difference != "" {
		t.Errorf("objects (-want +got):\n%s", difference)
	}
	if _, ok := asset.Objects[0].Typed.(*corev1.Namespace); !ok {
		t.Errorf("the first object is a %T", asset.Objects[0].Typed)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"a kind that the rules cannot look into": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", `no kind "Pod"`},
		"an unknown field":                       {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, lables: {}}\n", "lables"},
		"a field given twice":                    {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nmetadata: {name: b}\n", "already"},
		"a value of the wrong type":              {"apiVersion: v1\nkind: Namespace\nmetadata: {name: [a]}\n", "name"},
		"text that is no YAML":                   {"a: b: c\n", "document 2 of a.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse("a.yaml", []byte("# first\n---\n"+test.document))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "document 2 of a.yaml") {
				t.Errorf("got %v, want an error about document 2 with %q", err, test.want)
			}
		})
	}
}
