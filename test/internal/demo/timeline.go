package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Timeline tells the lives of Sandboxes, and of claims.
type Timeline struct {
	Sandboxes []*Life `json:"sandboxes"`
	Claims    []*Life `json:"claims"`
}

// Life is that of one Sandbox, or of a pool and its claims.
type Life struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Steps []Step `json:"steps"`
}

// Step is something that happened, at the moment when a watch told it.
type Step struct {
	// What happened, in one word.
	What string `json:"what"`
	// ElapsedMS and StepMS are milliseconds since the first object was created and since the previous step.
	ElapsedMS int64 `json:"elapsedMs"`
	StepMS    int64 `json:"stepMs"`
	// Detail is for readers.
	Detail string `json:"detail"`
	// Facts are what Detail names, by their key.
	Facts map[string]string `json:"facts"`
}

// fact is something that a step found out.
type fact struct{ key, value string }

// recorder writes a Life down.
type recorder struct {
	life          *Life
	began, latest time.Time
	out           io.Writer
}

// newRecorder begins a Life at the given instant; out receives its steps as lines.
func newRecorder(life *Life, began time.Time, out io.Writer) *recorder {
	fmt.Fprintf(out, "\n%s: %s\n%8s %8s\n", life.Name, life.About, "ms", "step")
	return &recorder{life: life, began: began, latest: began, out: out}
}

// add writes down a step that happened now.
func (r *recorder) add(now time.Time, what, detail string, facts ...fact) {
	step := Step{
		What: what, Detail: detail, Facts: map[string]string{},
		ElapsedMS: now.Sub(r.began).Milliseconds(), StepMS: now.Sub(r.latest).Milliseconds(),
	}
	for _, f := range facts {
		step.Facts[f.key] = f.value
	}
	r.latest = now
	r.life.Steps = append(r.life.Steps, step)
	fmt.Fprintf(r.out, "%8d %+8d  %-10s %s\n", step.ElapsedMS, step.StepMS, step.What, step.Detail)
}

// writeJSON prints the timeline for programs.
func (t *Timeline) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(t); err != nil {
		return fmt.Errorf("printing the timeline: %w", err)
	}
	return nil
}
