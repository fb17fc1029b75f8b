package progress_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/progress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func finding(what string) explain.Finding { return explain.Finding{Object: "sandbox/box", What: what} }

func TestAPipeGetsALineForEachChange(t *testing.T) {
	var out bytes.Buffer
	line := progress.Log(&out)
	for _, what := range []string{"a", "a", "b", "a"} {
		line.Show(finding(what))
	}
	line.End()
	if want := "sandbox/box: a\nsandbox/box: b\nsandbox/box: a\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// written is what was written, and tells when something is. It is safe for concurrent use.
type written struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{}
}

// Write implements io.Writer.
func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	w.wrote <- struct{}{}
	return n, err
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestATerminalGetsOneLineThatIsKeptFresh(t *testing.T) {
	out := &written{wrote: make(chan struct{}, 10)}
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	line := progress.Terminal(out, clock, 30)
	line.Show(finding("waiting for something that is long"))
	<-out.wrote
	clock.Step(time.Second)
	<-out.wrote
	line.End()
	const want = "\r\x1b[K0s  sandbox/box: waiting for…\r\x1b[K1s  sandbox/box: waiting for…\r\x1b[K"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if strings.Contains(out.String(), "\n") {
		t.Error("it is more than one line")
	}
}
