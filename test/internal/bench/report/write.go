package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Units. Each has as many decimals as say something.
const (
	PerSecond   = "1/s"
	Millis      = "ms"
	MillisEach  = "ms each" // for each object of the round
	Each        = "each"    // requests and the like for each object of the round
	MegabytesOf = "MB"
	Share       = "of 1"
	Count       = "in all"
	Times       = "times" // one figure by another of the same side
)

// WriteJSON writes the report for programs.
func WriteJSON(out io.Writer, r Report) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// WriteTable writes the report for people.
func WriteTable(out io.Writer, r Report) error {
	var b strings.Builder
	s := r.Setting
	fmt.Fprintf(&b, "%d objects, %d at a time, %d rounds of each side in turn; Kubernetes %s, %d nodes, %d CPUs for everything\n",
		s.Count, s.Parallel, s.Rounds, s.Kubernetes, s.Nodes, s.CPUs)
	if len(s.ControllerArgs) > 0 {
		fmt.Fprintf(&b, "controller flags: %s\n", strings.Join(s.ControllerArgs, " "))
	}
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "\n%s: %s\n  floor: %s\n  ours:  %s\n", c.Name, c.Summary, c.Floor, c.Ours)
		for _, p := range c.Phases {
			b.WriteByte('\n')
			writeRows(&b, rows(p))
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// rows returns a phase as text, headings first.
func rows(p Phase) [][]string {
	all := [][]string{{p.Name, "floor", "ours", "ratio", "of the rounds"}}
	for _, f := range p.Figures {
		decimals := decimals(f.Unit)
		all = append(all, []string{
			"  " + f.Name + ", " + f.Unit, number(f.Floor, decimals), number(f.Ours, decimals), number(f.Ratio, 2), spread(f.Ratio),
		})
	}
	return all
}

func decimals(unit string) int {
	switch unit {
	case Each:
		return 3
	case Share, Times:
		return 2
	}
	return 1
}

func number(v *Values, decimals int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", decimals, v.Value)
}

func spread(v *Values) string {
	if v == nil || len(v.Rounds) < 2 {
		return ""
	}
	return fmt.Sprintf("%.2f-%.2f", slices.Min(v.Rounds), slices.Max(v.Rounds))
}

// writeRows aligns the first column to the left and the others to the right.
func writeRows(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
