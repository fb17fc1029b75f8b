package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the findings as a table for people, then the ways out as commands to copy, then a summary in one line.
func WriteText(w io.Writer, findings []Finding) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESULT\tCHECK\tOBJECT\tMEANING")
	for _, f := range findings {
		lines := wrap(f.Meaning)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Result, f.Check, f.Object, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(table, "\t\t\t%s\n", line)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	_, err := io.WriteString(w, waysOut(findings)+summary(findings))
	if err != nil {
		return fmt.Errorf("writing the ways out: %w", err)
	}
	return nil
}

// wrap breaks a text between words. There is one line at least.
func wrap(text string) []string {
	const width = 72
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func waysOut(findings []Finding) string {
	var text strings.Builder
	for _, f := range findings {
		if len(f.WayOut) == 0 || f.Result == OK {
			continue
		}
		fmt.Fprintf(&text, "\n%s: %s, %s:\n", f.Result, f.Check, f.Object)
		for _, command := range f.WayOut {
			fmt.Fprintf(&text, "  %s\n", command)
		}
	}
	return text.String()
}

func summary(findings []Finding) string {
	text := "\n"
	for _, result := range []Result{Blocked, Warning, Unknown, OK} {
		text += fmt.Sprintf("%d %s, ", Count(findings, result), result)
	}
	text = strings.TrimSuffix(text, ", ")
	if Count(findings, Blocked) > 0 {
		return text + ": what is blocked does not work until it is mended\n"
	}
	return text + ": nothing stands in the way\n"
}

// report is the form for programs.
type report struct {
	Findings []Finding `json:"findings"`
	Blocked  int       `json:"blocked"`
	Warning  int       `json:"warning"`
	Unknown  int       `json:"unknown"`
	OK       int       `json:"ok"`
}

// WriteJSON writes the findings and how many there are of each result.
func WriteJSON(w io.Writer, findings []Finding) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(report{
		Findings: findings,
		Blocked:  Count(findings, Blocked), Warning: Count(findings, Warning), Unknown: Count(findings, Unknown), OK: Count(findings, OK),
	})
	if err != nil {
		return fmt.Errorf("writing the findings as JSON: %w", err)
	}
	return nil
}
