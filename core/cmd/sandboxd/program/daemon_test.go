package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
	"sigs.k8s.io/agent-sandbox/core/cmd/sandboxd/program"
)

func (d *served) client(t *testing.T) processv1.ProcessServiceClient {
	t.Helper()
	connection, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { must(t, connection.Close()) })
	return processv1.NewProcessServiceClient(connection)
}

func (d *served) execute(t *testing.T, command ...string) *processv1.ExecuteResponse {
	t.Helper()
	got, err := d.client(t).Execute(t.Context(), &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{Command: command}})
	must(t, err)
	return got
}

func TestTheAPIsShareTheirFiles(t *testing.T) {
	d := serve(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+d.rest+"/v1/files/sub/file", strings.NewReader("content"))
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	if got := string(d.execute(t, "cat", "sub/file").GetStdout()); got != "content" {
		t.Errorf("a program reads %q", got)
	}
	if got := get(t, "http://"+d.legacy+"/download/sub/file"); got != "content" {
		t.Errorf("the older API has %q", got)
	}
}

// A6.12: what the daemon was given to keep, neither programs nor metadata have.
func TestSecretsStayWithTheDaemon(t *testing.T) {
	d := serve(t, []string{"HF_TOKEN=hunter2", "SANDBOX_API_KEY=hunter2", "SANDBOX_NAME=mine", "MINE_CERT=let through", "SSL_CERT_FILE=not"},
		func(o *program.Options) { o.PassEnv = []string{"MINE_CERT"} })
	answer, err := http.Post("http://"+d.legacy+"/execute", "application/json", strings.NewReader(`{"command":"env"}`))
	must(t, err)
	older, err := io.ReadAll(answer.Body)
	must(t, errors.Join(err, answer.Body.Close()))
	for api, environment := range map[string]string{
		"gRPC": string(d.execute(t, "env").GetStdout()), "the older API": string(older), "metadata": get(t, "http://"+d.rest+"/v1/metadata"),
	} {
		if strings.Contains(environment, "hunter2") || strings.Contains(environment, "SSL_CERT_FILE") || !strings.Contains(environment, "SANDBOX_NAME") {
			t.Errorf("%s: %s", api, environment)
		}
		if api != "metadata" && !strings.Contains(environment, "MINE_CERT=let through") {
			t.Errorf("%s: %s", api, environment)
		}
	}
}

// What is under way ends by itself, if it does in time.
func TestAProgramEndsBeforeTheDaemonDoes(t *testing.T) {
	d := serve(t, nil)
	stream, err := d.client(t).Start(t.Context(), &processv1.StartRequest{Config: &processv1.ProcessConfig{
		Command: []string{"sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done"},
	}})
	must(t, err)
	var output strings.Builder
	for !strings.Contains(output.String(), "ready") {
		response, err := stream.Recv()
		must(t, err)
		output.Write(response.GetStdout())
	}
	ended := make(chan error, 1)
	go func() { ended <- d.stop() }()
	for {
		response, err := stream.Recv()
		must(t, err)
		output.Write(response.GetStdout())
		if exit := response.GetExit(); exit != nil {
			if exit.GetExitCode() != 7 || !strings.Contains(output.String(), "bye") {
				t.Errorf("%v, %q", exit, output.String())
			}
			break
		}
	}
	must(t, <-ended)
	if _, err := tryGet(t.Context(), "http://"+d.rest+"/v1/health"); err == nil {
		t.Error("it still serves")
	}
}

func TestAProgramThatDoesNotEndIsKilledWithTheDaemon(t *testing.T) {
	d := serve(t, nil, func(o *program.Options) { o.ShutdownTimeout = 100 * time.Millisecond })
	failed := make(chan error, 2)
	go func() {
		_, err := d.client(t).Execute(context.Background(), &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{
			Command: []string{"sh", "-c", "trap '' TERM; touch first; while :; do sleep 1000; done"},
		}})
		failed <- err
	}()
	go func() {
		response, err := http.Post("http://"+d.legacy+"/execute", "application/json", strings.NewReader(`{"command":"sh -c \"trap '' TERM; touch second; while :; do sleep 1000; done\""}`))
		if err == nil {
			err = errors.Join(errors.New(response.Status), response.Body.Close())
		}
		failed <- err
	}()
	eventually(t, "both programs run", func() bool { return exists(d.dir, "first") && exists(d.dir, "second") })
	// It returns when no program is left.
	must(t, d.stop())
	for range 2 {
		if err := <-failed; err == nil {
			t.Error("a program that was killed has ended well")
		}
	}
}

func TestADaemonThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for want, test := range map[string]struct {
		root    string
		environ []string
	}{
		"--root-dir=" + dir + "/gone: must be a directory that the daemon can open": {root: filepath.Join(dir, "gone")},
		"--root-dir=" + file + ": must be a directory":                              {root: file},
		"SANDBOX_BASE_DIR=" + file + ": must be a directory":                        {root: dir, environ: []string{"SANDBOX_BASE_DIR=" + file}},
		`SANDBOX_EXEC_TIMEOUT_SECONDS="x": must be a number`:                        {root: dir, environ: []string{"SANDBOX_EXEC_TIMEOUT_SECONDS=x"}},
		`--root-dir="": must be`:                                                    {},
	} {
		options := program.NewOptions()
		options.RootDir = test.root
		if _, err := program.New(options, test.environ, time.Now, logr.Discard()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAListenerThatBreaksEndsTheDaemon(t *testing.T) {
	options := program.NewOptions()
	options.RootDir = t.TempDir()
	daemon, err := program.New(options, []string{"SANDBOX_BASE_DIR=" + options.RootDir}, time.Now, logr.Discard())
	must(t, err)
	listener, _ := listen(t)
	must(t, listener.Close())
	if err := daemon.Serve(t.Context(), program.Listeners{REST: listener}); err == nil || !strings.HasPrefix(err.Error(), "serving: ") {
		t.Errorf("got %v", err)
	}
}

func TestHealthTellsHowLongItRuns(t *testing.T) {
	d := serve(t, nil)
	var health struct {
		Status string
		Uptime *float64 `json:"uptime_seconds"`
	}
	must(t, json.Unmarshal([]byte(get(t, "http://"+d.rest+"/v1/health")), &health))
	if health.Status != "ok" || health.Uptime == nil {
		t.Errorf("%+v", health)
	}
}
