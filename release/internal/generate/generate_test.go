package generate_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
	"sigs.k8s.io/agent-sandbox/release/internal/generate"
)

const role = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: thing-controller
rules:
- apiGroups:
  - example.com
  resources:
  - things
  verbs:
  - delete
  - get
  - list
  - watch
- apiGroups:
  - example.com
  resources:
  - things/status
  verbs:
  - patch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: thing-controller
  namespace: agent-sandbox-system
rules:
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
  - get
  - update
`

func module() generate.Module {
	return generate.Module{Dir: "module", API: "./api/v1beta1", Markers: "./...", Base: "base", Role: "thing-controller"}
}

func TestRunWritesWhatTheModuleDeclares(t *testing.T) {
	root := copyFixture(t)
	write(t, filepath.Join(root, "base", "crd", "example.com_renamed.yaml"), "stale")
	write(t, filepath.Join(root, "base", "crd", "kustomization.yaml"), "resources: []")

	if err := newGenerator(t, root).Run(t.Context(), module()); err != nil {
		t.Fatal(err)
	}

	if got := read(t, filepath.Join(root, "module", "api", "v1beta1", "zz_generated.deepcopy.go")); !strings.Contains(got, "func (in *Thing) DeepCopyObject() runtime.Object") {
		t.Errorf("the deepcopy file lacks Thing:\n%s", got)
	}
	if difference := cmp.Diff(role, read(t, filepath.Join(root, "base", "rbac", "role.yaml"))); difference != "" {
		t.Errorf("role.yaml (-want +got):\n%s", difference)
	}
	files, err := filepath.Glob(filepath.Join(root, "base", "crd", "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(root, "base", "crd", "example.com_things.yaml"), filepath.Join(root, "base", "crd", "kustomization.yaml")}
	if difference := cmp.Diff(want, files); difference != "" {
		t.Errorf("files in crd (-want +got):\n%s", difference)
	}
	checkDescriptions(t, read(t, want[0]))
}

func checkDescriptions(t *testing.T, file string) {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(file), &crd); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file, "\nstatus:") {
		t.Error("the file has a status, which would be applied")
	}
	ours := map[string]bool{}
	crdschema.Walk(&crd, func(field crdschema.Field) {
		if strings.Contains(field.Schema.Description, "is ours and documented") || strings.Contains(field.Schema.Description, "are ours and documented") {
			ours[field.Path] = true
		}
		if field.Embedded && field.Schema.Description != "" {
			t.Errorf("%s keeps the description %q", field.Path, field.Schema.Description)
		}
	})
	want := map[string]bool{"v1beta1.spec": true, "v1beta1.spec.podTemplate": true, "v1beta1.spec.claims": true, "v1beta1.spec.claims[].spec": true}
	if difference := cmp.Diff(want, ours); difference != "" {
		t.Errorf("documented fields (-want +got):\n%s", difference)
	}
}

func TestRunRefuses(t *testing.T) {
	const thing = "module/internal/thing/thing.go"
	for name, test := range map[string]struct {
		file    string
		content string
		want    string
	}{
		"a module whose role would be empty": {thing, "package thing\n", "no +kubebuilder:rbac marker"},
		"a marker that controller-gen would pass over": {
			thing, "package thing\n\n// Reconcile acts.\n//\n// +kubebuilder:rbac:groups=a,resources=b,verbs=get\nfunc Reconcile() {}\n",
			"internal/thing/thing.go:5:1: RBAC marker in a doc comment",
		},
		"a marker above a type's doc comment": {
			thing, "package thing\n\n// +kubebuilder:rbac:groups=a,resources=b,verbs=get\ntype Reconciler struct{}\n",
			"internal/thing/thing.go:3:1: RBAC marker in a doc comment",
		},
		"an API package without a kind": {"module/api/v1beta1/types.go", "// Package v1beta1 is empty.\npackage v1beta1\n", "found no kind"},
		"code that does not parse":      {thing, "package thing\nfunc {\n", "misplaced RBAC markers"},
	} {
		t.Run(name, func(t *testing.T) {
			root := copyFixture(t)
			write(t, filepath.Join(root, filepath.FromSlash(test.file)), test.content)
			err := newGenerator(t, root).Run(t.Context(), module())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestAFailingGeneratorIsAnError(t *testing.T) {
	generator, err := generate.New(copyFixture(t), filepath.Join(t.TempDir(), "missing"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := generator.Run(t.Context(), module()); err == nil || !strings.Contains(err.Error(), "running controller-gen object") {
		t.Errorf("got %v, want an error that says what was run", err)
	}
}

// copyFixture puts the module of testdata below a directory of its own, with the dependencies of this module, so
// that what is generated in place stays out of the source tree.
func copyFixture(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "module"), os.DirFS("testdata/module")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		write(t, filepath.Join(root, "module", file), read(t, filepath.Join("..", "..", file)))
	}
	return root
}

// newGenerator runs the pinned controller-gen, which the go command builds if it has not yet.
func newGenerator(t *testing.T, root string) *generate.Generator {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "tool", "-n", "controller-gen")
	command.Dir = filepath.Join("..", "..", "tools")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	program, err := command.Output()
	if err != nil {
		t.Fatalf("building controller-gen: %v\n%s", err, stderr.String())
	}
	generator, err := generate.New(root, strings.TrimSpace(string(program)), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return generator
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A marker in a package that no role is made from would be a right that its code lacks.
func TestEveryMarkerIsInAPackageOfARole(t *testing.T) {
	const top = "../../.."
	for _, dir := range []string{"core", "extensions"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || !strings.Contains(read(t, path), "// +kubebuilder:rbac:") {
				return err
			}
			relative, err := filepath.Rel(filepath.Join(top, dir), path)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(generate.Modules(), func(m generate.Module) bool { return m.Dir == dir && covers(m.Markers, relative) }) {
				t.Errorf("%s/%s has a marker, and no role is made from its package", dir, relative)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func covers(patterns, file string) bool {
	return slices.ContainsFunc(strings.Split(patterns, ";"), func(pattern string) bool {
		return strings.HasPrefix("./"+filepath.ToSlash(file), strings.TrimSuffix(pattern, "..."))
	})
}
