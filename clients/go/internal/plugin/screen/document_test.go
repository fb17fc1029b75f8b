package screen_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
)

var update = flag.Bool("update", false, "rewrite the screens in docs/kubectl-plugin.md")

// document shows the screens.
var document = filepath.Join("..", "..", "..", "..", "..", "docs", "kubectl-plugin.md")

// shown finds a screen: the command, and what it prints.
var shown = regexp.MustCompile("(?s)```text\n\\$ (kubectl sandbox [^\n]*)\n(.*?)```\n")

func table(t *testing.T, table *metav1.Table, options printers.PrintOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := printers.NewTablePrinter(options).PrintObj(table, &out); err != nil {
		t.Fatal(err)
	}
	// Editors take away blanks at the ends of lines.
	return regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n")
}

func report(t *testing.T, looked int, findings ...[]explain.Finding) string {
	t.Helper()
	told := screen.Report{Namespace: "team-a", Looked: looked}
	for _, some := range findings {
		told.Findings = append(told.Findings, some...)
	}
	var out bytes.Buffer
	if err := screen.WriteReport(&out, told, now); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// screens are what the commands print, by the commands.
func screens(t *testing.T) map[string]string {
	t.Helper()
	plain, wide := printers.PrintOptions{}, printers.PrintOptions{Wide: true}
	stopped := explain.Controller{Name: explain.ExtensionsController, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}}}
	waiting := fmt.Sprintf("sandbox.agents.x-k8s.io/my-experiment created\n%s\n%s\n", screen.Progress(starting()), screen.Progress(explain.Worst(explain.Sandbox(broken()))))
	return map[string]string{
		"kubectl sandbox ls":          table(t, screen.Sandboxes(sandboxes(), now), plain),
		"kubectl sandbox ls -o wide":  table(t, screen.Sandboxes(sandboxes(), now), wide),
		"kubectl sandbox ls claims":   table(t, screen.Claims(claims(), now), plain),
		"kubectl sandbox pools":       table(t, screen.Pools(pools(), claims(), sandboxes(), now), plain),
		"kubectl sandbox top -o wide": table(t, screen.Usage(usage()), wide),
		"kubectl sandbox create my-experiment --image=example.com/pyhton:3.13": waiting,
		"kubectl sandbox doctor my-experiment":                                 report(t, 1, explain.Sandbox(broken())),
		"kubectl sandbox doctor claim/my-task":                                 report(t, 1, explain.Claim(lost())),
		"kubectl sandbox doctor pool/my-agents":                                report(t, 1, explain.Pool(held())),
		"kubectl sandbox doctor":                                               report(t, 7, explain.Controllers(now, []explain.Controller{stopped}), explain.Claim(lost())),
	}
}

// starting is what is said first of what becomes broken.
func starting() explain.Finding {
	seen := broken()
	seen.Pods[0].Status.ContainerStatuses = nil
	return explain.Worst(explain.Sandbox(seen))
}

func TestTheScreensOfTheDocument(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want, used := screens(t), map[string]bool{}
	text := shown.ReplaceAllStringFunc(string(content), func(block string) string {
		command := shown.FindStringSubmatch(block)[1]
		printed, known := want[command]
		if !known {
			t.Errorf("`%s` is shown, and no test prints it", command)
			return block
		}
		used[command] = true
		return "```text\n$ " + command + "\n" + printed + "```\n"
	})
	for command := range want {
		if !used[command] {
			t.Errorf("`%s` is not shown", command)
		}
	}
	if *update {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(content), text); diff != "" {
		t.Errorf("run `make generate` (-documented +printed):\n%s", diff)
	}
}

// Every word for programs is in the document.
func TestTheDocumentHasEveryCause(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "explain", "cause.go"))
	if err != nil {
		t.Fatal(err)
	}
	causes := regexp.MustCompile(`Cause = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(causes) < 40 {
		t.Fatalf("only %d causes were found", len(causes))
	}
	for _, cause := range causes {
		if !strings.Contains(string(content), "`"+cause[1]+"`") {
			t.Errorf("cause %s is not explained", cause[1])
		}
	}
}
