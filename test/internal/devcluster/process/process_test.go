package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// start runs a shell script as a daemon and returns once it has said "ready".
func start(t *testing.T, script string) Identity {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	id, err := Start(Program{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = id.Stop(context.Background(), 0) })
	eventually(t, "the script says that it is ready", func() bool {
		tail, err := Tail(log, 1)
		return err == nil && strings.Contains(tail, "ready")
	})
	return id
}

func eventually(t *testing.T, reason string, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain until %s", reason)
		case <-tick.C:
		}
	}
}

func TestStopEndsAProcess(t *testing.T) {
	cases := []struct{ name, script string }{
		{"one that heeds TERM", "echo ready; exec sleep 300"},
		{"one that ignores TERM is killed", "trap '' TERM; echo ready; while :; do sleep 300; done"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id := start(t, c.script)
			if !id.Alive() {
				t.Fatal("not alive after its start")
			}
			group := id.PID
			if err := id.Stop(t.Context(), 200*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if id.Alive() {
				t.Error("alive after Stop")
			}
			if err := id.Stop(t.Context(), time.Second); err != nil {
				t.Errorf("Stop of a stopped process: %v", err)
			}
			_ = syscall.Kill(-group, syscall.SIGKILL) // the script's sleep
		})
	}
}

func TestADaemonHasItsOwnSession(t *testing.T) {
	id := start(t, "echo ready; exec sleep 300")
	group, err := syscall.Getpgid(id.PID)
	if err != nil || group != id.PID {
		t.Errorf("process group = %d, %v; want its pid %d", group, err, id.PID)
	}
}

func TestAReusedPidGetsNoSignal(t *testing.T) {
	id := start(t, "echo ready; exec sleep 300")
	cases := []struct {
		name  string
		other Identity
	}{
		{"a process that started earlier", Identity{PID: id.PID, StartTicks: id.StartTicks - 1, BootID: id.BootID}},
		{"a process before a reboot", Identity{PID: id.PID, StartTicks: id.StartTicks, BootID: "another"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.other.Alive() {
				t.Error("Alive = true")
			}
			if err := c.other.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("Signal = %v, want ErrProcessDone", err)
			}
			if err := c.other.Stop(t.Context(), time.Second); err != nil {
				t.Errorf("Stop = %v, want nil", err)
			}
			if !id.Alive() {
				t.Error("the process that has the pid now was ended")
			}
		})
	}
}

func TestAZombieIsDead(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	eventually(t, "the unreaped child counts as gone", func() bool {
		_, err := Identify(cmd.Process.Pid)
		return errors.Is(err, os.ErrProcessDone)
	})
}

func TestStartTicksReadsTheStartTime(t *testing.T) {
	const rest = " 1 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1000 20"
	cases := []struct {
		name, stat string
		want       uint64
		wantErr    bool
	}{
		{"a plain name", "10 (etcd) S" + rest, 4711, false},
		{"a name with blanks and parentheses", "10 (a) b (c) S" + rest, 4711, false},
		{"a zombie", "10 (etcd) Z" + rest, 0, true},
		{"a zombie with threads", "10 (etcd) Z" + strings.Replace(rest, " 1 0 4711", " 3 0 4711", 1), 4711, false},
		{"a cut line", "10 (etcd) S 1 10", 0, true},
		{"no name", "10", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := startTicks(c.stat)
			if got != c.want || (err != nil) != c.wantErr {
				t.Errorf("startTicks = %d, %v; want %d, error: %t", got, err, c.want, c.wantErr)
			}
		})
	}
}

func TestTailReturnsTheLastLines(t *testing.T) {
	long := strings.Repeat("x", 70<<10) + "\n"
	cases := []struct {
		name, text string
		lines      int
		want       string
	}{
		{"fewer lines than asked for", "a\nb\n", 5, "a\nb"},
		{"more lines than asked for", "a\nb\nc\n", 2, "b\nc"},
		{"no final line break", "a\nb", 1, "b"},
		{"an empty file", "", 3, ""},
		{"a panic", "a\npanic: b\n\ngoroutine 1 [running]:\nmain.main()\n\tmain.go:1 +0x1\n", 1, "panic: b"},
		{"lines after a panic", "panic: b\n\ngoroutine 1 [running]:\n\tmain.go:1 +0x1\nc\n", 1, "c"},
		{"a long file", long + "a\nb\n", 2, "a\nb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Tail(path, c.lines)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("Tail (-want +got):\n%s%v", diff, err)
			}
		})
	}
	if got, err := Tail(filepath.Join(t.TempDir(), "none"), 3); got != "" || err != nil {
		t.Errorf("Tail of a missing file = %q, %v; want nothing", got, err)
	}
}
