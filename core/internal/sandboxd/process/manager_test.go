package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func TestHowProgramsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		spec           Spec
		code           ExitCode
		stdout, stderr string
	}{
		"with success":                            {shell("echo out; echo err >&2"), 0, "out\n", "err\n"},
		"with a code of their own":                {shell("exit 42"), 42, "", ""},
		"by a signal":                             {shell("kill -TERM $$"), 143, "", ""},
		"by a signal that cannot be handled":      {shell("kill -KILL $$"), 137, "", ""},
		"without input, unless they are to have":  {Spec{Command: []string{"cat"}}, 0, "", ""},
		"with no shell to read their arguments":   {Spec{Command: []string{"echo", "$HOME", "a;b", "*"}}, 0, "$HOME a;b *\n", ""},
		"with the variables of the daemon":        {shell("echo $PLAIN"), 0, "seen\n", ""},
		"with variables of their own":             {Spec{Command: []string{"sh", "-c", "echo $PLAIN"}, Env: map[string]string{"PLAIN": "mine"}}, 0, "mine\n", ""},
		"with all output, however late it comes":  {shell("(sleep 0.1; echo late) & echo early; wait"), 0, "early\nlate\n", ""},
		"in the midst of output that nobody held": {shell("head -c 300000 /dev/zero | tr '\\0' x"), 0, strings.Repeat("x", 300000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, newTestManager(), test.spec)
			code, err := r.wait(t)
			_, stdout, stderr := r.snapshot()
			if code != test.code || err != nil || stdout != test.stdout || stderr != test.stderr {
				t.Errorf("code %d, error %v, stdout %.100q, stderr %.100q", code, err, stdout, stderr)
			}
		})
	}
}

func TestOutputComesInChunks(t *testing.T) {
	r := begin(t, newTestManager(func(s *Settings) { s.Chunk = 7 }), shell("head -c 1000 /dev/zero"))
	if code, err := r.wait(t); code != 0 || err != nil || r.stdout.Len() != 1000 || r.largest > 7 {
		t.Errorf("code %d, error %v, %d bytes, %d at once", code, err, r.stdout.Len(), r.largest)
	}
}

func TestWhereProgramsRun(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, newTestManager(), Spec{Command: []string{"sh", "-c", "pwd; echo $PWD"}, Dir: dir})
	if code, err := r.wait(t); code != 0 || err != nil || r.stdout.String() != dir+"\n"+dir+"\n" {
		t.Errorf("code %d, error %v, %q", code, err, r.stdout.String())
	}
}

func TestWhichProgramIsFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\necho "+name+"\n"), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("first/both", 0o644)
	write("second/both", 0o755)
	write("second/dull", 0o644)
	write("here", 0o755)
	for name, test := range map[string]struct {
		command, path, want string
		kind                fault.Kind
	}{
		"one in PATH":                       {"both", "second", "second/both", 0},
		"the first in PATH that may be run": {"both", "first:second", "second/both", 0},
		"one in the directory":              {"./here", "", "here", 0},
		"one by its whole path":             {filepath.Join(dir, "here"), "", "here", 0},
		"one that is nowhere in PATH":       {"here", "first:second", "", fault.NotFound},
		"one that is not there":             {"./gone", "", "", fault.NotFound},
		"one that is said to lie in a file": {"./here/gone", "", "", fault.NotFound},
		"one that may not be run":           {"./second/dull", "", "", fault.Forbidden},
		"one in PATH that may not be run":   {"dull", "second", "", fault.Forbidden},
		"a directory":                       {"./second", "", "", fault.Forbidden},
		"a shell, where there is no PATH":   {"sh", "", "", 0},
		"one without a name":                {"", "", "", fault.Invalid},
		"one with a zero byte":              {"a\x00b", "", "", fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			var absolute []string
			for _, part := range strings.Split(test.path, ":") {
				if part != "" {
					absolute = append(absolute, filepath.Join(dir, part))
				}
			}
			r := begin(t, newTestManager(), Spec{Command: []string{test.command}, Dir: dir, Env: map[string]string{"PATH": strings.Join(absolute, ":")}})
			_, err := r.wait(t)
			if fault.KindOf(err) != test.kind || (err == nil) != (test.kind == 0) {
				t.Errorf("got %v, want one of kind %d", err, test.kind)
			}
			if got := strings.TrimSpace(r.stdout.String()); got != test.want {
				t.Errorf("%q has run, want %q", got, test.want)
			}
		})
	}
}

func TestWhatCannotBeRun(t *testing.T) {
	for name, spec := range map[string]Spec{
		"nothing":                                {},
		"a variable without a name":              {Command: []string{"true"}, Env: map[string]string{"": "x"}},
		"a variable whose name has a =":          {Command: []string{"true"}, Env: map[string]string{"A=B": "x"}},
		"a variable with a zero byte":            {Command: []string{"true"}, Env: map[string]string{"A": "\x00"}},
		"an argument with a zero byte":           {Command: []string{"true", "\x00"}},
		"a terminal without columns":             {Command: []string{"true"}, Terminal: &Size{0, 24}},
		"a terminal without rows":                {Command: []string{"true"}, Terminal: &Size{80, 0}},
		"a terminal with too many columns":       {Command: []string{"true"}, Terminal: &Size{65536, 24}},
		"a terminal with too many rows":          {Command: []string{"true"}, Terminal: &Size{80, 65536}},
		"a file that is no program":              {Command: []string{"./script"}},
		"more arguments than Linux has room for": {Command: []string{"true", strings.Repeat("x", 1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Dir = t.TempDir()
			if err := os.WriteFile(filepath.Join(spec.Dir, "script"), []byte("neither a binary nor a script"), 0o700); err != nil {
				t.Fatal(err)
			}
			m := newTestManager()
			if _, err := m.Run(t.Context(), spec, &recorder{}); fault.KindOf(err) != fault.Invalid || err == nil {
				t.Errorf("got %v", err)
			}
			if m.taken != 0 || len(m.programs) != 0 {
				t.Errorf("%d places are taken by %v", m.taken, m.programs)
			}
		})
	}
}

// A11.12: what a program leaves behind does not live on, whether it holds on to the output, has closed it, or is a job of a shell.
func TestNothingOfAProgramIsLeft(t *testing.T) {
	for name, script := range map[string]string{
		"a child that holds the output":      "sleep 1000 & echo $! > child",
		"a child that has closed the output": "sleep 1000 >/dev/null 2>&1 & echo $! > child",
		"a child that ignores signals":       "(trap '' TERM INT HUP; sleep 1000) & echo $! > child",
		"a job of a shell":                   "set -m; sleep 1000 & echo $! > child",
		"a grandchild":                       "sh -c 'sleep 1000 & echo $! > child' & wait",
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(script)
			spec.Dir = t.TempDir()
			r := begin(t, newTestManager(), spec)
			if code, err := r.wait(t); code != 0 || err != nil {
				t.Errorf("code %d, error %v", code, err)
			}
			gone(t, filepath.Join(spec.Dir, "child"))
		})
	}
}

// A11.12: neither the limit nor a client that goes leaves anything running.
func TestWhatKillsAProgram(t *testing.T) {
	const script = "trap '' TERM; sleep 1000 & echo $! > child; echo ready; wait; sleep 1000"
	failure := errors.New("the client takes nothing any more")
	for name, test := range map[string]struct {
		limit time.Duration
		sink  Sink
		// leave says that the client goes.
		leave bool
		check func(error) bool
	}{
		"its limit": {limit: 300 * time.Millisecond, sink: &recorder{}, check: func(err error) bool {
			return fault.KindOf(err) == fault.Late && strings.Contains(err.Error(), `program "sh" was killed: it ran longer than 300ms`)
		}},
		"a client that goes":      {sink: &recorder{}, leave: true, check: func(err error) bool { return errors.Is(err, context.Canceled) }},
		"output that goes astray": {sink: failing{failure}, check: func(err error) bool { return errors.Is(err, failure) }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			spec := shell(script)
			spec.Dir, spec.Limit = t.TempDir(), test.limit
			if test.leave {
				test.sink = leaving{test.sink, cancel}
			}
			if _, err := newTestManager().Run(ctx, spec, test.sink); !test.check(err) {
				t.Errorf("got %v", err)
			}
			gone(t, filepath.Join(spec.Dir, "child"))
		})
	}
}

// failing takes no output.
type failing struct{ err error }

func (failing) Started(int) error { return nil }

func (f failing) Output(Stream, []byte) error { return f.err }

// leaving goes at the first output.
type leaving struct {
	Sink

	leave func()
}

func (l leaving) Output(stream Stream, data []byte) error {
	l.leave()
	return l.Sink.Output(stream, data)
}

// What has made itself a session of its own stays, though it holds on to the output: the program's end is told without it.
func TestASessionOfItsOwnHoldsNobodyUp(t *testing.T) {
	spec := shell("setsid sh -c 'echo $$ > child; echo on its own; exec sleep 1000' & while ! test -s child; do :; done; echo done")
	spec.Dir = t.TempDir()
	r := begin(t, newTestManager(), spec)
	code, err := r.wait(t)
	if code != 0 || err != nil || !strings.Contains(r.stdout.String(), "done\n") {
		t.Errorf("code %d, error %v, %q", code, err, r.stdout.String())
	}
	text, err := os.ReadFile(filepath.Join(spec.Dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it does not live on: %v", err)
	}
}

func TestHowManyProgramsRun(t *testing.T) {
	m := newTestManager(func(s *Settings) { s.Most = 2 })
	first, second := begin(t, m, Spec{Command: []string{"cat"}, Input: true}), begin(t, m, Spec{Command: []string{"cat"}, Input: true})
	third := begin(t, m, shell("true"))
	if _, err := third.wait(t); fault.KindOf(err) != fault.Exhausted || !strings.Contains(err.Error(), "2 programs run already") {
		t.Errorf("got %v", err)
	}
	if err := m.EndInput(t.Context(), first.id); err != nil {
		t.Fatal(err)
	}
	if _, err := first.wait(t); err != nil {
		t.Error(err)
	}
	fourth := begin(t, m, shell("true"))
	if code, err := fourth.wait(t); code != 0 || err != nil {
		t.Errorf("once there is room: code %d, %v", code, err)
	}
	if err := m.Signal(second.id, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestWhoStopsTakesNoMore(t *testing.T) {
	m := newTestManager()
	polite := begin(t, m, shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done"))
	polite.writes(t, "ready")
	m.Stop()
	if code, err := polite.wait(t); code != 7 || err != nil || !strings.Contains(polite.stdout.String(), "bye") {
		t.Errorf("code %d, %v, %q", code, err, polite.stdout.String())
	}
	if _, err := begin(t, m, shell("true")).wait(t); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	m.Wait()
}

func TestASlowReaderLosesNothing(t *testing.T) {
	r := &slow{recorder: &recorder{}, let: make(chan struct{})}
	done := make(chan error)
	go func() {
		spec := shell("head -c 200000 /dev/zero")
		spec.Dir = t.TempDir()
		_, err := newTestManager().Run(context.Background(), spec, r)
		done <- err
	}()
	testkit.Throughout(t, 2*patience, "a program waits for who reads it", func() error {
		select {
		case err := <-done:
			return fmt.Errorf("it has ended: %w", err)
		default:
			return nil
		}
	})
	close(r.let)
	if err := <-done; err != nil || r.stdout.Len() != 200000 {
		t.Errorf("%d bytes, %v", r.stdout.Len(), err)
	}
}

type slow struct {
	*recorder

	let chan struct{}
}

func (s *slow) Output(stream Stream, data []byte) error {
	<-s.let
	return s.recorder.Output(stream, data)
}

func TestWhatIsKeptOfTheOutput(t *testing.T) {
	c := &Capture{Limit: 5}
	for _, part := range []string{"abc", "def", "ghi"} {
		if err := errors.Join(c.Output(Stdout, []byte(part)), c.Output(Stderr, []byte(part[:1]))); err != nil {
			t.Fatal(err)
		}
	}
	want := "adg\nsandboxd: the last 4 bytes of stdout are missing: 5 are kept (--max-output-bytes)\n"
	if difference := cmp.Diff(want, string(c.Stderr())); difference != "" || string(c.Stdout()) != "abcde" {
		t.Errorf("stdout %q, stderr (-want +got):\n%s", c.Stdout(), difference)
	}
}
