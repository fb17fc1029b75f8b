package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

// Result is what came of a run. What could not be counted is nil.
type Result struct {
	Variant   Variant `json:"variant"`
	Seed      uint64  `json:"seed"`
	Sandboxes int     `json:"sandboxes"` // names
	Seconds   float64 `json:"seconds"`   // of users and kills
	// Actions are what users did, Missed those that met nothing, Retries how often a name was taken still.
	Actions map[schedule.Kind]int `json:"actions"`
	Missed  int                   `json:"missed"`
	Retries int                   `json:"retries"`
	// Kills are controllers killed, Restarts those that were started again: after a kill, or after losing the Lease.
	Kills    int  `json:"kills"`
	Restarts int  `json:"restarts"`
	Leaders  *int `json:"leaders,omitempty"` // how often the Lease changed hands
	// Pods were made for Sandboxes, Adopted are the children that were taken over.
	Pods    int `json:"pods"`
	Adopted int `json:"adopted"`
	// Writes are the controllers', without Events. Conflicts are those answered 409: an object has changed or exists
	// already. Refused are those that failed for another reason, as an object that is gone.
	Writes    *int `json:"writes,omitempty"`
	Conflicts *int `json:"conflicts,omitempty"`
	Refused   *int `json:"refused,omitempty"`
	// Left are the Sandboxes that there are in the end.
	Left int `json:"left"`
	// RestSeconds is the time from the last kill to the last change of anything.
	RestSeconds float64           `json:"restSeconds"`
	Violations  []check.Violation `json:"violations"`
}

func (p *play) result(o *observer, rest time.Duration) Result {
	c := p.tally.now()
	made, adopted := o.counts()
	return Result{
		Variant: p.settings.Variant, Seed: p.settings.Seed, Sandboxes: p.settings.Sandboxes, Seconds: p.settings.Duration.Seconds(),
		Actions: c.actions, Missed: c.missed, Retries: c.refused,
		Kills: c.kills, Restarts: c.kills + c.ends,
		Pods: made, Adopted: adopted, Left: o.living(),
		RestSeconds: rest.Seconds(),
	}
}

// WriteJSON writes results for programs.
func WriteJSON(out io.Writer, results []Result) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(results); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// WriteTable writes results for people, one column for each, and then all violations.
func WriteTable(out io.Writer, results []Result) error {
	var b strings.Builder
	for _, row := range rows() {
		fmt.Fprintf(&b, "%-26s", row.name)
		for _, result := range results {
			fmt.Fprintf(&b, " %9s", row.value(result))
		}
		b.WriteByte('\n')
	}
	for _, result := range results {
		for _, v := range result.Violations {
			fmt.Fprintf(&b, "\nVIOLATION (%s, seed %d): %s\n", result.Variant, result.Seed, v)
			for _, line := range v.History {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// row is a line of the table.
type row struct {
	name  string
	value func(Result) string
}

func rows() []row {
	text := func(name string, value func(Result) any) row {
		return row{name, func(r Result) string { return fmt.Sprint(value(r)) }}
	}
	all := []row{
		text("variant", func(r Result) any { return r.Variant }),
		text("seed", func(r Result) any { return r.Seed }),
		text("names of Sandboxes", func(r Result) any { return r.Sandboxes }),
		text("seconds of chaos", func(r Result) any { return r.Seconds }),
		text("actions", func(r Result) any { return total(r.Actions) }),
	}
	for _, kind := range schedule.Kinds() {
		all = append(all, text("  "+string(kind), func(r Result) any { return r.Actions[kind] }))
	}
	return append(all,
		text("  of these met nothing", func(r Result) any { return r.Missed }),
		text("name was taken still", func(r Result) any { return r.Retries }),
		text("kills", func(r Result) any { return r.Kills }),
		text("restarts", func(r Result) any { return r.Restarts }),
		text("Lease changed hands", func(r Result) any { return optional(r.Leaders) }),
		text("Pods made", func(r Result) any { return r.Pods }),
		text("children taken over", func(r Result) any { return r.Adopted }),
		text("writes by controllers", func(r Result) any { return optional(r.Writes) }),
		text("  conflicts (409)", func(r Result) any { return optional(r.Conflicts) }),
		text("  otherwise refused", func(r Result) any { return optional(r.Refused) }),
		text("Sandboxes in the end", func(r Result) any { return r.Left }),
		text("seconds until quiescent", func(r Result) any { return fmt.Sprintf("%.1f", r.RestSeconds) }),
		text("violations", func(r Result) any { return len(r.Violations) }),
	)
}

func total(actions map[schedule.Kind]int) int { return counts{actions: actions}.total() }

func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
