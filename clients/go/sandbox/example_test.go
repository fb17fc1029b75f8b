package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// The functions from here to the test are shown in docs/go-sdk.md, as they stand.

func quickStart(ctx context.Context, options sandbox.Options, out io.Writer) error {
	client, err := sandbox.NewClient(ctx, options)
	if err != nil {
		return err
	}
	sb, err := client.CreateSandbox(ctx, "python-pool", "team")
	if err != nil {
		return err
	}
	defer func() { _ = sb.Close(context.WithoutCancel(ctx)) }()
	if err := sb.Write(ctx, "hello.py", []byte("print('hello')")); err != nil {
		return err
	}
	result, err := sb.Run(ctx, "python3 hello.py")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "exit code %d: %s\n", result.ExitCode, result.Stdout)
	return err
}

func perConversation(ctx context.Context, client *sandbox.Client, conversation string) (*sandbox.Sandbox, error) {
	return client.CreateSandbox(ctx, "python-pool", "team",
		sandbox.WithClaimName("conversation-"+conversation),
		sandbox.WithLifetime(time.Hour),
		sandbox.WithClaim(func(claim *extensionsv1beta1.SandboxClaim) {
			claim.Labels = map[string]string{"conversation": conversation}
		}))
}

func stream(ctx context.Context, sb *sandbox.Sandbox, out io.Writer) (int, error) {
	process, err := sb.Commands().Start(ctx, sandbox.Command{
		Args:   []string{"sh", "-c", "cat && echo done"},
		Stdout: out,
		Stderr: out,
	})
	if err != nil {
		return 0, err
	}
	if _, err := io.WriteString(process, "from standard input\n"); err != nil {
		return 0, err
	}
	if err := process.CloseInput(); err != nil {
		return 0, err
	}
	return process.Wait()
}

func copyOut(ctx context.Context, sb *sandbox.Sandbox, path string, to io.Writer) error {
	content, err := sb.Files().Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	_, err = io.Copy(to, content)
	return err
}

func runAgain(ctx context.Context, sb *sandbox.Sandbox, command string) (*sandbox.ExecutionResult, error) {
	result, err := sb.Run(ctx, command)
	if !errors.Is(err, sandbox.ErrPortForwardDied) {
		return result, err
	}
	if err := sb.Open(ctx); err != nil {
		return nil, err
	}
	return sb.Run(ctx, command)
}

// Every block of Go in the document is one of the functions above, all of which run here.
func TestTheExamplesOfTheDocument(t *testing.T) {
	document, err := os.ReadFile("../../../docs/go-sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(document), -1)
	if len(blocks) != 5 {
		t.Errorf("the document has %d blocks of Go, want 5", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(string(source), block[1]) {
			t.Errorf("this is not what runs here:\n%s", block[1])
		}
	}
	t.Run("quick start", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		var out strings.Builder
		if err := quickStart(t.Context(), sandbox.Options{RESTConfig: c.Config(), APIURL: g.URL, Quiet: true}, &out); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "exit code 3: python3 hello.py\n"; got != want || claimsLeft(c) != "" {
			t.Errorf("got %q, want %q; %s", got, want, claimsLeft(c))
		}
	})
	t.Run("the same sandbox for a conversation, and a file out of it", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		client := newClient(t, c, g)
		first, err := perConversation(t.Context(), client, "7")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Forget(first)
		if again, err := perConversation(t.Context(), client, "7"); again != first || err != nil {
			t.Errorf("got another sandbox, %v", err)
		}
		g.files["a"] = "content"
		var out strings.Builder
		if err := copyOut(t.Context(), first, "a", &out); err != nil || out.String() != "content" {
			t.Errorf("read %q, %v", out.String(), err)
		}
	})
	t.Run("streaming", func(t *testing.T) {
		c, d, g := newCluster(t), newDaemon(t), newGuest(t)
		var out strings.Builder
		code, err := stream(t.Context(), mustCreate(t, daemonClient(t, c, d, g)), &out)
		if code != 7 || err != nil || out.String() != "from standard input\n" {
			t.Errorf("exit code %d, %v, %q", code, err, out.String())
		}
	})
	t.Run("after the port-forward died", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		client, tunnels := forwarding(t, c, g)
		sb := mustCreate(t, client)
		tunnels.Cut()
		eventually(t, func() string {
			if sb.IsReady() {
				return "it does not know that it lost its connection"
			}
			return ""
		})
		if result, err := runAgain(t.Context(), sb, "true"); err != nil || result.Stdout != "true" {
			t.Errorf("got %+v, %v", result, err)
		}
	})
}
