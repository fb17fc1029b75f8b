// Package finding is how every checker of the release reports: one breach, one line.
package finding

import (
	"encoding/json"
	"fmt"
	"io"
)

// Finding is one breach of a rule.
type Finding struct {
	// File is the asset or source file.
	File string `json:"file"`
	// Rule is the name of the rule.
	Rule string `json:"rule"`
	// Object is the Kubernetes object or Go package at fault.
	Object string `json:"object"`
	// Field is the path of the field inside the object.
	Field string `json:"field"`
	// Value is what the field holds; empty if it is not set.
	Value string `json:"value"`
	// Fix says what to do about it.
	Fix string `json:"fix"`
	// Warning says that it is told and fails nothing.
	Warning bool `json:"warning,omitempty"`
}

// String is the finding on one line.
func (f Finding) String() string {
	value := "is not set"
	if f.Value != "" {
		value = fmt.Sprintf("is %q", f.Value)
	}
	text := fmt.Sprintf("%s: %s: %s %s: %s (%s)", f.File, f.Object, f.Field, value, f.Fix, f.Rule)
	if f.Warning {
		return "warning: " + text
	}
	return text
}

// Breaches is how many of the findings are no warnings.
func Breaches(findings []Finding) int {
	count := 0
	for _, finding := range findings {
		if !finding.Warning {
			count++
		}
	}
	return count
}

// WriteText writes one line for each finding.
func WriteText(w io.Writer, findings []Finding) error {
	for _, finding := range findings {
		if _, err := fmt.Fprintln(w, finding); err != nil {
			return fmt.Errorf("writing findings: %w", err)
		}
	}
	return nil
}

// WriteJSON writes the findings as one JSON array, empty if there are none.
func WriteJSON(w io.Writer, findings []Finding) error {
	if findings == nil {
		findings = []Finding{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(findings); err != nil {
		return fmt.Errorf("writing findings as JSON: %w", err)
	}
	return nil
}
