package program_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// anybody is a user without a name, a home or rights.
const anybody = 65532

// installed is a copy of this test program that anybody may run, and a directory of theirs.
type installed struct{ binary, root string }

func install(t *testing.T) installed {
	t.Helper()
	dir := t.TempDir()
	i := installed{filepath.Join(dir, "sandboxd"), filepath.Join(dir, "workspace")}
	content, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(i.binary, content, 0o600))
	must(t, os.Chmod(i.binary, 0o755))
	must(t, os.Mkdir(i.root, 0o700))
	if os.Getuid() == 0 {
		must(t, os.Chown(i.root, anybody, anybody))
		// What holds the directories of tests is closed to others.
		for above := dir; above != os.TempDir() && above != "/"; above = filepath.Dir(above) {
			must(t, os.Chmod(above, 0o755))
		}
	}
	return i
}

// command is the daemon as anybody runs it.
func (i installed) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(i.binary, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), daemonVariable+"=1", "SANDBOX_BASE_DIR="+i.root, "HF_TOKEN=hunter2")
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: anybody, Gid: anybody}}
	}
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	return cmd, output
}

// port is free, or was a moment ago.
func port(t *testing.T) string {
	t.Helper()
	listener, address := listen(t)
	must(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	return port
}

// start runs the daemon with nothing but its older API, which does both: files and programs.
func (i installed) start(t *testing.T, args ...string) (*exec.Cmd, string, *bytes.Buffer) {
	t.Helper()
	legacy := port(t)
	all := append([]string{"--root-dir=" + i.root, "--listen-host=127.0.0.1", "--grpc-port=0", "--rest-port=0", "--legacy-port=" + legacy}, args...)
	cmd, output := i.command(all...)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	url := "http://127.0.0.1:" + legacy
	eventually(t, "the daemon answers", func() bool {
		_, err := tryGet(t.Context(), url+"/")
		return err == nil
	})
	return cmd, url, output
}

func execute(t *testing.T, url, command string) string {
	t.Helper()
	response, err := http.Post(url+"/execute", "application/json", strings.NewReader(`{"command":`+strconv.Quote(command)+`}`))
	must(t, err)
	content, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, response.Body.Close())
	return string(content)
}

// It needs no name, no home and no rights, writes below its root alone, and ends well when it is told to.
func TestAnybodyCanRunIt(t *testing.T) {
	i := install(t)
	cmd, url, output := i.start(t)
	if got := execute(t, url, "sh -c 'id -u; echo content > file; cat file'"); !strings.HasSuffix(strings.TrimSpace(got), `content\n","stderr":"","exit_code":0}`) {
		t.Errorf("a program says %s", got)
	}
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v\n%s", err, output)
	}
}

// A6.12: a program runs as the same user, and may read what the user owns. What the daemon was given is not among it.
func TestProgramsCannotReadTheEnvironmentOfTheDaemon(t *testing.T) {
	cmd, url, _ := install(t).start(t)
	if cmd.SysProcAttr == nil && os.Getuid() == 0 {
		t.Fatal("it runs as root, who may read anything")
	}
	environ := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "environ")
	if got := execute(t, url, "cat "+environ); strings.Contains(got, "hunter2") || !strings.Contains(got, "ermission denied") {
		t.Errorf("a program reads %s", got)
	}
	// The file does hold it, or this would show nothing.
	if content, err := os.ReadFile(environ); os.Getuid() == 0 && !bytes.Contains(content, []byte("hunter2")) {
		t.Errorf("the daemon has no secret: %v", err)
	}
}

func TestAsAnEntrypoint(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		signal syscall.Signal
		code   int
		says   string
	}{
		"it ends as the workload does":         {"exit 5", 0, 5, ""},
		"it ends as a workload that is killed": {"kill -KILL $$", 0, 137, ""},
		"it passes on the signal to end":       {"trap 'echo bye; exit 9' TERM; touch ready; while :; do sleep 0.01; done", syscall.SIGTERM, 9, "bye"},
		"it passes on other signals":           {"trap 'echo again; exit 3' USR1; touch ready; while :; do sleep 0.01; done", syscall.SIGUSR1, 3, "again"},
		"the workload has all variables":       {"echo $HF_TOKEN", 0, 0, "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t)
			cmd, output := i.command("--root-dir="+i.root, "--listen-host=127.0.0.1", "--grpc-port=0", "--rest-port=0", "--legacy-port="+port(t), "--",
				"sh", "-c", "cd "+i.root+"; "+test.script)
			must(t, cmd.Start())
			if test.signal != 0 {
				eventually(t, "the workload is ready", func() bool { return exists(i.root, "ready") })
				must(t, cmd.Process.Signal(test.signal))
			}
			_ = cmd.Wait()
			if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(output.String(), test.says) {
				t.Errorf("code %d\n%s", cmd.ProcessState.ExitCode(), output)
			}
		})
	}
}

func TestAsAnEntrypointItServesMeanwhile(t *testing.T) {
	i := install(t)
	cmd, url, output := i.start(t, "--", "sh", "-c", "cd "+i.root+"; while ! test -e file; do sleep 0.01; done; exit 4")
	if got := execute(t, url, "touch file"); !strings.Contains(got, `"exit_code":0`) {
		t.Errorf("a program says %s", got)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("code %d\n%s", cmd.ProcessState.ExitCode(), output)
	}
}

func TestWhatItSaysAndEndsWith(t *testing.T) {
	i := install(t)
	listener, address := listen(t)
	defer func() { must(t, listener.Close()) }()
	_, taken, err := net.SplitHostPort(address)
	must(t, err)
	root := "--root-dir=" + i.root
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a flag that is unknown":       {[]string{"--no-such-flag"}, 2, "sandboxd: unknown flag: --no-such-flag; see --help"},
		"a value that cannot be read":  {[]string{"--grpc-port=x"}, 2, `sandboxd: invalid argument "x" for "--grpc-port" flag`},
		"a value out of bounds":        {[]string{"--grpc-port=-1"}, 1, "sandboxd: --grpc-port=-1: must be from 1 to 65535"},
		"a workload without its mark":  {[]string{"true"}, 2, `sandboxd: unexpected argument "true": a workload stands behind --`},
		"a word before the mark":       {[]string{"x", "--", "true"}, 2, `sandboxd: unexpected argument "x"`},
		"a root that is not there":     {[]string{"--root-dir=/gone"}, 1, "sandboxd: --root-dir=/gone: must be a directory"},
		"a port that is taken":         {[]string{root, "--listen-host=127.0.0.1", "--grpc-port=" + taken}, 1, "sandboxd: --grpc-port=" + taken + ": listen tcp 127.0.0.1:" + taken},
		"a workload that is not there": {[]string{root, "--listen-host=127.0.0.1", "--grpc-port=0", "--rest-port=0", "--legacy-port=" + port(t), "--", "no-such-program"}, 1, "sandboxd: starting the workload: "},
		"a request for help":           {[]string{"--help"}, 0, "sandboxd [flags] -- command [args]"},
		"a request for the version":    {[]string{"--version"}, 0, "sandboxd "},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, output := i.command(test.args...)
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(output.String(), test.want) {
				t.Errorf("code %d, %s", cmd.ProcessState.ExitCode(), output)
			}
		})
	}
}

func TestItCopiesItself(t *testing.T) {
	i := install(t)
	path := filepath.Join(i.root, "sandboxd")
	for range 2 {
		cmd, output := i.command("--copy-to=" + path)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	want, err := os.ReadFile(i.binary)
	must(t, err)
	got, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	entries, err := os.ReadDir(i.root)
	must(t, err)
	if !bytes.Equal(want, got) || info.Mode() != 0o555 || len(entries) != 1 {
		t.Errorf("%d bytes of %d, mode %s, %v", len(got), len(want), info.Mode(), entries)
	}
	cmd, output := i.command("--copy-to=/gone/sandboxd")
	if err := cmd.Run(); err == nil || !strings.HasPrefix(output.String(), "sandboxd: --copy-to=/gone/sandboxd: its directory must be") {
		t.Errorf("%v, %s", err, output)
	}
}
