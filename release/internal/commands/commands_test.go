package commands

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryBlockOfCommandsIsMarked(t *testing.T) {
	const fenced = "```"
	block := func(before, language string) string {
		return before + fenced + language + "\nkubectl get pods\n" + fenced + "\n"
	}
	for name, test := range map[string]struct {
		text, want string
		warning    bool
	}{
		"a test runs it":                    {block("<!-- test: TestHere, TestThere -->\n", "sh"), "", false},
		"it stands in a list":               {"1. Give this:\n\n   <!-- test: TestHere -->\n   " + fenced + "sh\n   kubectl get pods\n   " + fenced + "\n", "", false},
		"it needs a cloud":                  {block("<!-- needs: cloud -->\n", "sh"), "", false},
		"it changes the machine":            {block("<!-- needs: root -->\n", "sh"), "", false},
		"it is no command":                  {block("", "yaml") + block("", "text"), "", false},
		"nothing runs it":                   {block("Give this:\n", "sh"), `line 2: mark is not set`, false},
		"its test does not exist":           {block("<!-- test: TestHere, TestGone -->\n", "sh"), `test is "TestGone": name a test that exists`, false},
		"its test is to come":               {block("<!-- test: pending -->\n", "sh"), `test is "pending"`, true},
		"it needs something else":           {block("<!-- needs: luck -->\n", "sh"), `needs is "luck"`, false},
		"what it holds is not said":         {block("", ""), "language is not set", false},
		"another word for commands":         {block("<!-- test: TestHere -->\n", "bash"), `language is "bash"`, false},
		"a mark of what is no command":      {block("<!-- test: TestHere -->\n", "yaml"), "mark blocks of commands (sh) alone", false},
		"a mark apart from its block":       {"<!-- test: TestHere -->\n\n" + block("<!-- test: TestHere -->\n", "sh"), "line 1: mark is", false},
		"a mark inside of a block":          {fenced + "text\n<!-- test: TestGone -->\n" + fenced + "\n", "", false},
		"what a block prints is no mark":    {block("<!-- test: TestHere -->\n", "sh") + block("\n", "text"), "", false},
		"another comment":                   {"<!-- end of values -->\n", "", false},
		"a mark that is misspelt is no one": {block("<!-- tests: TestHere -->\n", "sh"), "mark is not set", false},
	} {
		t.Run(name, func(t *testing.T) {
			findings, err := Check(fstest.MapFS{
				"docs/a.md":   {Data: []byte(test.text)},
				"a/a_test.go": {Data: []byte("func TestHere(t *testing.T) {}\nfunc TestThere(t *testing.T) {}\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" && len(findings) == 0 {
				return
			}
			if len(findings) != 1 || test.want == "" || !strings.Contains(findings[0].String(), test.want) || findings[0].Warning != test.warning {
				t.Errorf("findings %v, want one with %q", findings, test.want)
			}
		})
	}
}

func TestTheCommandsOfThisRepositoryAreMarked(t *testing.T) {
	root := os.DirFS("../../..")
	findings, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range findings {
		if !found.Warning {
			t.Error(found)
		}
	}
}
