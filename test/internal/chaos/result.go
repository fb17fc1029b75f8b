package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

// Result is what came of a run. What could not be counted is nil.
type Result struct {
	Subject   Subject `json:"subject"`
	Variant   Variant `json:"variant"`
	Seed      uint64  `json:"seed"`
	Sandboxes int     `json:"sandboxes,omitempty"` // names
	Seconds   float64 `json:"seconds"`             // of users and kills
	// Actions are what users did, Missed those that met nothing, Retries how often a name was taken still.
	Actions map[schedule.Kind]int `json:"actions"`
	Missed  int                   `json:"missed"`
	Retries int                   `json:"retries"`
	// Kills are controllers killed, Restarts those that were started again: after a kill, or after losing the Lease.
	Kills    int  `json:"kills"`
	Restarts int  `json:"restarts"`
	Leaders  *int `json:"leaders,omitempty"` // how often the Lease changed hands
	// KillsBy and LeadersBy are the same by the names of controllers, Outages the parts of the control plane killed.
	KillsBy   map[string]int `json:"killsBy"`
	LeadersBy map[string]int `json:"leadersBy,omitempty"`
	Outages   map[string]int `json:"outages,omitempty"`
	// Pods were made for Sandboxes, Adopted are the children that were taken over.
	Pods    int `json:"pods"`
	Adopted int `json:"adopted"`
	// Writes are the controllers', without Events. Conflicts are those answered 409: an object has changed or exists
	// already. Refused are those that failed for another reason, as an object that is gone.
	Writes    *int `json:"writes,omitempty"`
	Conflicts *int `json:"conflicts,omitempty"`
	Refused   *int `json:"refused,omitempty"`
	// Claims are the figures of a run about claims.
	Claims *ClaimFigures `json:"claims,omitempty"`
	// Left are the Sandboxes that there are in the end.
	Left int `json:"left"`
	// RestSeconds is the time from the last kill to the last change of anything.
	RestSeconds float64           `json:"restSeconds"`
	Violations  []check.Violation `json:"violations"`
}

func (p *play) result(about subject, rest time.Duration) Result {
	c := p.tally.now()
	kills := sum(c.kills)
	return Result{
		Subject: p.settings.Subject, Variant: p.settings.Variant, Seed: p.settings.Seed, Seconds: p.settings.Duration.Seconds(),
		Actions: c.actions, Missed: c.missed, Retries: c.refused,
		Kills: kills, KillsBy: c.kills, Restarts: kills + sum(c.ends), Outages: c.outages,
		Left: about.living(), RestSeconds: rest.Seconds(),
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

// WriteTable writes results for people, a table for each subject with one column for each result, and then all violations.
func WriteTable(out io.Writer, results []Result) error {
	var b strings.Builder
	for _, subject := range Subjects() {
		of := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Subject != subject })
		if len(of) > 0 {
			writeRows(&b, subject, of)
		}
	}
	for _, result := range results {
		for _, v := range result.Violations {
			fmt.Fprintf(&b, "\nVIOLATION (%s, %s, seed %d): %s\n", result.Subject, result.Variant, result.Seed, v)
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

func writeRows(b *strings.Builder, subject Subject, results []Result) {
	for _, row := range rows(subject) {
		fmt.Fprintf(b, "%-38s", row.name)
		for _, result := range results {
			fmt.Fprintf(b, " %9s", row.value(result))
		}
		b.WriteByte('\n')
	}
}
