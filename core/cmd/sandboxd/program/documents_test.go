package program_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const document = "../../../../docs/sandboxd.md"

// Every block of commands that names this test is run as it stands in the document, but for the ports, one after the other.
func TestTheCommandsOfTheDocument(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: the commands of %s need %s", filepath.Base(document), program)
		}
	}
	text, err := os.ReadFile(document)
	must(t, err)
	blocks := regexp.MustCompile("(?s)<!-- test: "+t.Name()+" -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 3 {
		t.Fatalf("there are %d blocks", len(blocks))
	}
	d := serve(t, []string{"SANDBOX_NAME=my-sandbox"})
	ports := strings.NewReplacer("localhost:8080", d.rest, "localhost:8888", d.legacy)
	dir := t.TempDir()
	for _, block := range blocks {
		cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", ports.Replace(block[1]))
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", block[1], err, output)
		}
		checkOutput(t, block[1], string(output))
	}
}

// checkOutput looks for what the comments behind commands say that they print.
func checkOutput(t *testing.T, commands, output string) {
	t.Helper()
	for _, comment := range regexp.MustCompile("# prints (.*)").FindAllStringSubmatch(commands, -1) {
		if !strings.Contains(output, comment[1]) {
			t.Errorf("%s\nprints %s, without %s", commands, output, comment[1])
		}
	}
}
