package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func TestExitCodes(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		err  error
		code int
		says bool
	}{
		"done":                         {nil, 0, false},
		"not done":                     {broken, 1, true},
		"something is stuck":           {errStuck, 1, false},
		"wrong usage":                  {UsageError{broken}, 2, true},
		"wrong usage, with its place":  {fmt.Errorf("--pool: %w", UsageError{broken}), 2, true},
		"timed out":                    {fmt.Errorf("waiting: %w", await.ErrTimeout), 3, true},
		"a command's own":              {fmt.Errorf("running: %w", utilexec.CodeExitError{Err: broken, Code: 42}), 42, false},
		"it ended before the time did": {fmt.Errorf("waiting: %w", await.ErrDeleted), 1, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if code, say := Exit(c.err); code != c.code || (say != nil) != c.says {
				t.Errorf("got %d and %v, want %d and words: %t", code, say, c.code, c.says)
			}
		})
	}
}

func TestAnExtensionIsNoShortening(t *testing.T) {
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	cases := map[string]struct {
		wanted  extension
		set, at *metav1.Time
		says    string
	}{
		"later than so far":                {extension{}, at(time.Hour), at(2 * time.Hour), ""},
		"the same as so far":               {extension{}, at(time.Hour), at(time.Hour), ""},
		"never is later than anything":     {extension{}, at(time.Hour), nil, ""},
		"what has expired comes back":      {extension{}, at(-time.Hour), at(time.Minute), ""},
		"sooner than so far":               {extension{}, at(2 * time.Hour), at(time.Hour), "it is to expire at 2026-03-01T14:00:00Z, which is later than 2026-03-01T13:00:00Z: --force"},
		"anything is sooner than never":    {extension{}, nil, at(time.Hour), "it does not expire so far: --force"},
		"a time that has passed":           {extension{}, at(-time.Hour), at(-time.Minute), "it would expire at once; --force"},
		"sooner, by force":                 {extension{force: true}, at(2 * time.Hour), at(time.Hour), ""},
		"a time that has passed, by force": {extension{force: true}, nil, at(-time.Hour), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { wantError(t, c.wanted.check(c.set, c.at, now), c.says) })
	}
}

func TestTheTimeOfAnExtension(t *testing.T) {
	cases := map[string]struct {
		wanted extension
		want   string
		says   string
	}{
		"so long from now":  {extension{lifetime: 90 * time.Minute}, "2026-03-01T13:30:00Z", ""},
		"at a time":         {extension{until: "2026-03-01T15:00:00+02:00"}, "2026-03-01T13:00:00Z", ""},
		"never":             {extension{never: true}, "", ""},
		"no time":           {extension{}, "", "say until when"},
		"less than no time": {extension{lifetime: -time.Second}, "", "--for=-1s: must be above 0"},
		"what is no time":   {extension{until: "tomorrow"}, "", `--until="tomorrow": must be a time as`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			at, err := c.wanted.time(now)
			wantError(t, err, c.says)
			got := ""
			if at != nil {
				got = at.Format(time.RFC3339)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatToDeleteIsSaidInOneWay(t *testing.T) {
	waits := waiting{timeout: time.Second}
	cases := map[string]struct {
		wanted removal
		args   []string
		says   string
	}{
		"by names":       {removal{waiting: waits}, []string{"a", "b"}, ""},
		"all":            {removal{waiting: waits, all: true}, nil, ""},
		"by labels":      {removal{waiting: waits, selector: "a=b"}, nil, ""},
		"not at all":     {removal{waiting: waits}, nil, "say what to delete"},
		"all and a name": {removal{waiting: waits, all: true}, []string{"a"}, "one of these alone"},
		"all and labels": {removal{waiting: waits, all: true, selector: "a=b"}, nil, "one of these alone"},
		"without time":   {removal{all: true}, nil, "--timeout=0s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { wantError(t, c.wanted.validate(c.args), c.says) })
	}
}

// wantError wants an error with a text, or none for none.
func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}
