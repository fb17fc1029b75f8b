package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/kballard/go-shellquote"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

// mostRequest is more bytes than Linux lets a program be started with.
const mostRequest = 8 << 20

type command struct {
	Command string `json:"command"`
}

type result struct {
	Stdout   string           `json:"stdout"`
	Stderr   string           `json:"stderr"`
	ExitCode process.ExitCode `json:"exit_code"`
}

// execute answers 200 whatever comes of it: that is what clients of this API read.
func (h *handler) execute(w http.ResponseWriter, r *http.Request, _ string) {
	output := &process.Capture{Limit: h.Output}
	code, err := h.run(r.Context(), http.MaxBytesReader(w, r.Body, mostRequest), output)
	told := result{Stdout: string(output.Stdout()), Stderr: string(output.Stderr()), ExitCode: code}
	if err != nil {
		told.ExitCode, told.Stderr = 1, fmt.Sprintf("Failed to execute command: %v", err)
	}
	h.write(w, http.StatusOK, told)
}

func (h *handler) run(ctx context.Context, body io.Reader, output process.Sink) (process.ExitCode, error) {
	var asked command
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		return 0, fault.New(fault.Invalid, `the body must be {"command": "..."}: %v`, err)
	}
	words, err := shellquote.Split(asked.Command)
	if err != nil {
		return 0, fault.New(fault.Invalid, "splitting the command into words: %v", err)
	}
	return h.Programs.Run(ctx, process.Spec{Command: words, Dir: h.Workspace.Path(), Limit: h.Limit}, output)
}
