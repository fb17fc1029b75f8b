package program_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
)

// talk runs a program in a sandbox that address reaches, gives it a line, and copies to out what it prints.
func talk(ctx context.Context, address string, out io.Writer) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	sandbox := processv1.NewProcessServiceClient(connection)
	stream, err := sandbox.Start(ctx, &processv1.StartRequest{Config: &processv1.ProcessConfig{Command: []string{"sh", "-c", "read line; echo got $line"}}})
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		switch event := message.GetEvent().(type) {
		case *processv1.StartResponse_Init:
			line := &processv1.WriteStdinRequest_Input{Input: []byte("hello\n")}
			_, err = sandbox.WriteStdin(ctx, &processv1.WriteStdinRequest{ProcessId: event.Init.GetProcessId(), Data: line})
		case *processv1.StartResponse_Stdout:
			_, err = out.Write(event.Stdout)
		case *processv1.StartResponse_Exit:
			_, err = fmt.Fprintln(out, "exit code", event.Exit.GetExitCode())
			return err
		}
		if err != nil {
			return err
		}
	}
}

// The document shows talk as it stands here.
func TestTheExampleOfTheDocument(t *testing.T) {
	d := serve(t, nil)
	var out strings.Builder
	must(t, talk(t.Context(), d.grpc, &out))
	if out.String() != "got hello\nexit code 0\n" {
		t.Errorf("it prints %q", out.String())
	}
	shown, err := os.ReadFile(document)
	must(t, err)
	source, err := os.ReadFile("example_test.go")
	must(t, err)
	_, rest, _ := strings.Cut(string(source), "// talk runs")
	body, _, found := strings.Cut(rest, "\n}\n")
	if !found || !strings.Contains(string(shown), "```go\n// talk runs"+body+"\n}\n```") {
		t.Error("the document shows another function: copy it from here")
	}
}
