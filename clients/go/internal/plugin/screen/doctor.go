package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
)

// width is that of the text of a finding.
const width = 96

// Report is what doctor tells.
type Report struct {
	// Namespace is where the objects are; empty for all.
	Namespace string `json:"namespace,omitempty"`
	// Findings in the order in which they are told.
	Findings []explain.Finding `json:"findings"`
	// Looked is how many objects were looked at.
	Looked int `json:"looked"`
}

// WriteReport writes the report for people: each finding with what, why and the next commands, then a summary in one line.
func WriteReport(out io.Writer, report Report, now time.Time) error {
	var text strings.Builder
	for _, f := range report.Findings {
		text.WriteString(findingText(f, now))
		text.WriteString("\n")
	}
	text.WriteString(summary(report))
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	return nil
}

// findingText is one finding.
func findingText(f explain.Finding, now time.Time) string {
	var text strings.Builder
	title := f.Object
	if f.Part != "" {
		title += " > " + f.Part
	}
	fmt.Fprintf(&text, "%s: %s", plain(title), f.Severity)
	if f.Since != nil && now.After(*f.Since) {
		fmt.Fprintf(&text, " for %s", duration.HumanDuration(now.Sub(*f.Since)))
	}
	fmt.Fprintf(&text, " (%s)\n", f.Cause)
	writeField(&text, "what", f.What)
	writeField(&text, "why", f.Why)
	for i, command := range f.Next {
		label := "next"
		if i > 0 {
			label = ""
		}
		// A command stays on one line, to be copied.
		fmt.Fprintf(&text, "  %-5s %s\n", label, plain(command))
	}
	return text.String()
}

func writeField(text *strings.Builder, label, content string) {
	if content == "" {
		return
	}
	for _, line := range wrap(plain(content), width) {
		fmt.Fprintf(text, "  %-5s %s\n", label, line)
		label = ""
	}
}

func summary(report Report) string {
	counts := make([]string, 0, 4)
	for _, severity := range []explain.Severity{explain.Stuck, explain.Waiting, explain.Unknown, explain.Note} {
		if count := explain.Count(report.Findings, severity); count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, severity))
		}
	}
	if len(counts) == 0 {
		counts = []string{"nothing is stuck"}
	}
	objects := "objects"
	if report.Looked == 1 {
		objects = "object"
	}
	return fmt.Sprintf("%d %s looked at: %s\n", report.Looked, objects, strings.Join(counts, ", "))
}

// WriteReportJSON writes the report for programs.
func WriteReportJSON(out io.Writer, report Report) error {
	if report.Findings == nil {
		report.Findings = []explain.Finding{}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("writing the findings as JSON: %w", err)
	}
	return nil
}

// Progress is a finding on one line, for somebody who waits for it to pass.
func Progress(f explain.Finding) string {
	title := f.Object
	if f.Part != "" {
		title = f.Part
	}
	text := title + ": " + f.What
	if f.Why != "" {
		text += " (" + f.Why + ")"
	}
	return plain(text)
}
