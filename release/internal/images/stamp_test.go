package images

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

func TestTheMakefileStampsAsImagesDo(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^LDFLAGS := (.*)$`).FindSubmatch(makefile)
	if match == nil {
		t.Fatal("the Makefile sets no LDFLAGS")
	}
	want := strings.NewReplacer(
		"$(VERSION_PACKAGE)", versionPackage, "$(VERSION)", "v1.2.3", "$(COMMIT)", "abc", "$(DATE)", "2026-01-02T03:04:05Z",
	).Replace(string(match[1]))
	stamp, err := NewStamp("v1.2.3", "abc", "2026-01-02T03:04:05Z")
	if err != nil {
		t.Fatal(err)
	}
	if got := stamp.linkerFlags(); got != want {
		t.Errorf("images are linked with\n%s\nand make build with\n%s", got, want)
	}
}

func TestStampedVariablesExist(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "shared", "version", "version.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			variables[spec.Names[0].Name] = true
		}
		return true
	})
	stamped := regexp.MustCompile(`-X \S+\.(\w+)=`).FindAllStringSubmatch(Stamp{}.linkerFlags(), -1)
	if len(stamped) != 3 {
		t.Errorf("%d variables are stamped, want three", len(stamped))
	}
	for _, match := range stamped {
		if !variables[match[1]] {
			t.Errorf("the linker stamps %s, which shared/version does not have", match[1])
		}
	}
}

func TestImagesAreDatedInUTC(t *testing.T) {
	for name, test := range map[string]struct {
		date string
		want time.Time
	}{
		"a date in another zone is the same moment":                    {"2026-03-01T01:30:00+02:00", time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC)},
		"an unknown date is the same one for each build":               {Unknown, time.Unix(0, 0).UTC()},
		"a date in UTC stays, as the Makefile gives it on CI machines": {"2026-03-01T01:30:00Z", time.Date(2026, 3, 1, 1, 30, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			stamp, err := NewStamp("v1", Unknown, test.date)
			if err != nil {
				t.Fatal(err)
			}
			if stamp.created != test.want {
				t.Errorf("got %s, want %s", stamp.created, test.want)
			}
		})
	}
}

func TestStampsThatTheLinkerWouldMisreadAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ version, commit, date, want string }{
		"no version":                   {"", "abc", Unknown, `version ""`},
		"a commit that is two words":   {"v1", "abc -X main.evil=1", Unknown, `commit "abc -X main.evil=1"`},
		"a date in another form":       {"v1", "abc", "2026-03-01", "want RFC 3339 or unknown"},
		"a date as people write dates": {"v1", "abc", "1 March", `date "1 March"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewStamp(test.version, test.commit, test.date); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
