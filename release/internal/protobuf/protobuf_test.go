package protobuf_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/protobuf"
)

const root = "../../.."

func TestWhatIsCommittedIsWhatIsGenerated(t *testing.T) {
	programs := pinned(t)
	for _, api := range protobuf.APIs() {
		t.Run(api.File, func(t *testing.T) {
			scratch := t.TempDir()
			file := filepath.Join(api.Dir, api.File)
			write(t, filepath.Join(scratch, file), read(t, filepath.Join(root, file)))
			if err := protobuf.Generate(t.Context(), scratch, api, programs); err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{".pb.go", "_grpc.pb.go"} {
				name := strings.TrimSuffix(file, ".proto") + suffix
				if difference := cmp.Diff(read(t, filepath.Join(root, name)), read(t, filepath.Join(scratch, name))); difference != "" {
					t.Errorf("%s: run make generate (-committed +generated):\n%s", name, difference)
				}
			}
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	api := protobuf.API{Dir: "api", File: "thing/v1/thing.proto"}
	const head = "syntax = \"proto3\";\npackage thing.v1;\n"
	for name, test := range map[string]struct {
		content string
		plugins []string
		want    string
	}{
		"a file that does not parse":    {head + "message {", nil, "compiling api/thing/v1/thing.proto: thing/v1/thing.proto:3:9"},
		"an import that is not there":   {head + "import \"no/such.proto\";", nil, "no/such.proto"},
		"a file without its Go package": {head, pinned(t)[:1], "generating the code of api/thing/v1/thing.proto by protoc-gen-go: "},
		"a plugin that is not there":    {head, []string{"bin/no-such-plugin"}, "by no-such-plugin: "},
	} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			write(t, filepath.Join(scratch, api.Dir, api.File), test.content)
			err := protobuf.Generate(t.Context(), scratch, api, test.plugins)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// pinned are the plugins of the tool module, which the go command builds if it has not yet.
func pinned(t *testing.T) []string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	var programs []string
	for _, plugin := range protobuf.Plugins() {
		command := exec.CommandContext(t.Context(), "go", "tool", "-n", plugin)
		command.Dir = filepath.Join(root, "release", "tools")
		var stderr bytes.Buffer
		command.Stderr = &stderr
		program, err := command.Output()
		if err != nil {
			t.Fatalf("building %s: %v\n%s", plugin, err, stderr.String())
		}
		programs = append(programs, strings.TrimSpace(string(program)))
	}
	return programs
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
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
