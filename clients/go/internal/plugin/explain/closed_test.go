package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// root is that of the repository.
var root = filepath.Join("..", "..", "..", "..", "..")

// constants are the values of the string constants of a file whose names begin with a prefix, under the comments of their blocks.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, declared := range parsed.Decls {
		block, ok := declared.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			value, _ := spec.(*ast.ValueSpec)
			literal, isText := value.Values[0].(*ast.BasicLit)
			if !isText || !strings.HasPrefix(value.Names[0].Name, prefix) {
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[text] = block.Doc.Text()
		}
	}
	return found
}

// A reason that the API gains has to be explained, too.
func TestEveryReasonOfReadyIsExplained(t *testing.T) {
	ours := constants(t, filepath.Join(root, "core", "api", "v1beta1", "conditions.go"), "Reason")
	for reason, block := range ours {
		if !strings.Contains(block, "condition Ready") && !strings.Contains(block, "conditions Ready") || reason == "DependenciesReady" || reason == "DependenciesNotReady" {
			continue
		}
		for _, f := range explain.Sandbox(seen(unready(reason, "the message"))) {
			if f.Cause == explain.Unexplained || f.Cause == explain.PodMissing {
				t.Errorf("reason %s of a Sandbox is not explained", reason)
			}
		}
	}
	claims := constants(t, filepath.Join(root, "extensions", "api", "v1beta1", "conditions.go"), "Reason")
	explained := 0
	for reason, block := range claims {
		if !strings.Contains(block, "claim's condition Ready") || reason == extensionsv1beta1.ReasonReconcilerError {
			continue
		}
		explained++
		for _, f := range explain.Claim(explain.Seen{Now: now, Namespace: "team", Claim: claim(reason, "the message")}) {
			if f.Cause == explain.Refused {
				t.Errorf("reason %s of a claim is not explained", reason)
			}
		}
	}
	if len(ours) < 10 || explained < 8 {
		t.Errorf("only %d reasons of Sandboxes and %d of claims were found", len(ours), explained)
	}
}

func TestTheWorstIsFirst(t *testing.T) {
	findings := explain.Sandbox(explain.Seen{Now: now, Namespace: "team", Sandbox: unready("QuotaExceeded", "no"), Unread: []string{"events"}})
	if worst := explain.Worst(findings); worst.Severity != explain.Stuck {
		t.Errorf("the worst is %+v", worst)
	}
	if worst := explain.Worst(nil); worst.Severity != "" {
		t.Errorf("of nothing, the worst is %+v", worst)
	}
	if count := explain.Count(findings, explain.Unknown); count != 1 {
		t.Errorf("%d could not be read, want 1", count)
	}
	ready := unready("DependenciesReady", "Pod is Ready")
	ready.Status.Conditions[0].Status = metav1.ConditionTrue
	if worst := explain.Worst(explain.Sandbox(seen(ready))); worst.Severity != explain.OK {
		t.Errorf("of one that is ready, the worst is %+v", worst)
	}
}
