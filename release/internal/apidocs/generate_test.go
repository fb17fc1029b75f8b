package apidocs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/agent-sandbox/release/internal/golden"
)

const root = "../../.."

// What is committed is what is generated: make verify says so too, but takes controller-gen to do it.
func TestTheReferenceOfTheAPIIsAsGenerated(t *testing.T) {
	text, err := Render(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if err := golden.Compare(filepath.Join(root, filepath.FromSlash(Document)), text, "make generate"); err != nil {
		t.Error(err)
	}
}

// small is a repository with one kind and a few constants in each module; change edits a file of it.
func small(path, old, changed string) fstest.MapFS {
	files := map[string]string{
		"core/api/v1beta1/names.go": `package v1beta1

// Mode says how.
type Mode string

const (
	// ModeOn turns it on.
	ModeOn Mode = "On"
)

// prefix is no constant of the reference.
const prefix = "example.com/"

// Reasons of the condition Ready. There is one.
const (
	// ReasonOn : the mode is ModeOn, or LabelOn | is set.
	ReasonOn = "On"
	// LabelOn marks it.
	LabelOn = prefix + "on"
)
`,
		"kustomize/base/core/crd/example.com_things.yaml": `
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    additionalPrinterColumns: [{name: Ready, type: string, jsonPath: .a}, {name: Node, type: string, jsonPath: .b, priority: 1}]
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        description: Thing is one.
        required: [spec]
        properties:
          metadata: {type: object}
          spec:
            type: object
            description: Spec is it.
            x-kubernetes-validations: [{rule: self.replicas < 9, message: too many}]
            properties:
              replicas: {type: integer, format: int32, minimum: 0, default: 1, description: How | many <each>.}
              mode: {type: string, enum: [Open, Shut], default: Open, description: Which.}
              template:
                type: object
                description: The Pod.
                properties: {containers: {type: array}, restartPolicy: {type: string}, nodeName: {type: string}}
              names: {type: array, x-kubernetes-list-type: atomic, description: Several., items: {type: string}}
`,
	}
	files["extensions/api/v1beta1/names.go"] = "package v1beta1\n\n// Events.\nconst (\n\t// EventOn : it is.\n\tEventOn = sandboxv1beta1.LabelOn + \"-event\"\n)\n"
	files["kustomize/base/extensions/crd/example.com_others.yaml"] = strings.ReplaceAll(files["kustomize/base/core/crd/example.com_things.yaml"], "Thing", "Other")
	repository := fstest.MapFS{}
	for name, content := range files {
		if name == path {
			content = strings.Replace(content, old, changed, 1)
		}
		repository[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return repository
}

func TestTheReferenceTellsWhatIsDeclared(t *testing.T) {
	text, err := Render(small("", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Thing\n\nThing is one.\n\n`example.com/v1`, namespaced, `kubectl get things` or `th`. Columns: Ready; with `-o wide` Node.\n",
		"It can be scaled: `kubectl scale` and autoscalers set `spec.replicas`.\n",
		"| `spec` | object |  | required | Spec is it. |\n",
		"| `spec.replicas` | int32 | `1` | at least 0 | How \\| many &lt;each>. |\n",
		"| `spec.mode` | string | `Open` | `Open`, `Shut` | Which. |\n",
		"| `spec.names` | list of string |  | owned as a whole | Several. |\n",
		"| `spec.template` | [PodSpec](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec) |  |  | The Pod. |\n",
		"`spec` is refused with \"too many\" unless\n\n```text\nself.replicas < 9\n```\n",
		"### Reasons of the condition Ready\n\nThere is one.\n",
		"| `On` | the mode is `On`, or `example.com/on` \\| is set. |\n",
		"### Mode\n\nIt says how.\n\n| value | |\n| --- | --- |\n| `On` | turns it on. |\n",
		"| `example.com/on-event` | it is. |\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the reference lacks\n%s", want)
		}
	}
	for _, unwanted := range []string{"spec.template.containers", "`metadata`", "is no constant of the reference"} {
		if strings.Contains(string(text), unwanted) {
			t.Errorf("the reference has %s", unwanted)
		}
	}
	if t.Failed() {
		t.Logf("the reference:\n%s", text)
	}
}

func TestWhatIsNotExplainedIsAnError(t *testing.T) {
	const source, definition = "core/api/v1beta1/names.go", "kustomize/base/core/crd/example.com_things.yaml"
	for name, test := range map[string]struct{ path, old, changed, want string }{
		"a constant without a comment":     {source, "\t// LabelOn marks it.\n", "", "LabelOn has no comment"},
		"a constant in no block":           {source, "const prefix", "const ReasonAlone = \"A\"\n\nconst prefix", "ReasonAlone stands in no block"},
		"several constants on a line":      {source, "LabelOn = prefix", "LabelOn, LabelOff = prefix + \"off\", prefix", "several constants at once"},
		"a value that is no string":        {source, "prefix + \"on\"", "len(prefix)", "LabelOn: it is no string"},
		"a source that does not parse":     {source, "package", "pack", "parsing an API package"},
		"a field without a description":    {definition, ", description: Which.", "", "kind Thing: no description of spec.mode"},
		"a definition that cannot be read": {definition, "scope:", "scoop:", "scoop"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Render(small(test.path, test.old, test.changed)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// docs/troubleshooting.md has a row for each reason of a condition: what it means, what to look at, the way out.
func TestEveryReasonHasAWayOut(t *testing.T) {
	document := "docs/troubleshooting.md"
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"Condition", "Reason"} {
		constants, err := Constants(os.DirFS(root), prefix)
		if err != nil {
			t.Fatal(err)
		}
		if len(constants) < 6 {
			t.Fatalf("there are only %d constants that begin with %s", len(constants), prefix)
		}
		for _, constant := range constants {
			// A condition has a heading, a reason the first cell of a row.
			if !explains(string(text), prefix, constant.Value) {
				t.Errorf("%s does not explain %s (%s)", document, constant.Value, constant.Name)
			}
		}
	}
	if explains(string(text), "Reason", "NoSuchReason") || explains(string(text), "Condition", "NoSuchCondition") {
		t.Error("what does not exist is explained")
	}
}

func explains(text, prefix, value string) bool {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		switch {
		case prefix == "Condition" && strings.HasPrefix(line, "## ") && strings.Contains(line, "`"+value+"`"):
			return true
		// Reason, meaning, what to look at, way out.
		case prefix == "Reason" && len(cells) == 6 && strings.Contains(cells[1], "`"+value+"`") && strings.TrimSpace(cells[2]) != "":
			return true
		}
	}
	return false
}
