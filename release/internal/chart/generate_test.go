package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// What is committed is what is generated: make verify says so too, but takes controller-gen to do it.
func TestTheChartIsAsGenerated(t *testing.T) {
	scratch := t.TempDir()
	for _, directory := range []string{"kustomize/base", Directory} {
		if err := os.CopyFS(filepath.Join(scratch, directory), os.DirFS(filepath.Join(root, directory))); err != nil {
			t.Fatal(err)
		}
	}
	// That which no object stands for any more.
	stale := filepath.Join(scratch, Directory, "files", "core", "ClusterRole", "gone.yaml")
	if err := os.WriteFile(stale, []byte("rules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Generate(scratch); err != nil {
		t.Fatal(err)
	}
	want, got := contents(t, filepath.Join(root, Directory)), contents(t, filepath.Join(scratch, Directory))
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is not as generated: make generate", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is missing, or should be: make generate", name)
	}
}

func contents(t *testing.T, directory string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, relErr := filepath.Rel(directory, path)
		if err == nil {
			err = relErr
		}
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheTableExplainsEveryValue(t *testing.T) {
	for name, test := range map[string]struct{ values, want, problem string }{
		"a scalar":                          {"# How many.\nreplicas: 1\n", "| `replicas` | `1` | How many. |\n", ""},
		"a comment of two lines":            {"# How\n# many.\nreplicas: 1\n", "| `replicas` | `1` | How many. |\n", ""},
		"a heading is no part of it":        {"# All values.\n\n# How many.\nreplicas: 1\n", "| `replicas` | `1` | How many. |\n", ""},
		"a bar would end the cell":          {"# This | that.\na: \"\"\n", "| `a` | `\"\"` | This \\| that. |\n", ""},
		"fields with comments of their own": {"image:\n  # Which.\n  tag: v1\n", "| `image.tag` | `\"v1\"` | Which. |\n", ""},
		"a mapping that is one value":       {"# What.\nresources:\n  limits:\n    memory: 2Gi\n", "| `resources` | `{\"limits\":{\"memory\":\"2Gi\"}}` | What. |\n", ""},
		"a value without a comment":         {"# How many.\na: 1\nb: 2\n", "", "the value b has no comment"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := table([]byte(test.values))
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %v, want an error with %q", err, test.problem)
				}
				return
			}
			if _, rows, _ := strings.Cut(string(got), "| --- |\n"); err != nil || !strings.HasSuffix(string(got), test.want) {
				t.Errorf("%v, got %s, want %s", err, rows, test.want)
			}
		})
	}
}

func TestAReadmeWithoutAPlaceForTheTableIsAnError(t *testing.T) {
	if _, err := withTable([]byte("# Chart\n"), []byte("# A.\na: 1\n")); err == nil {
		t.Error("it passed")
	}
}
