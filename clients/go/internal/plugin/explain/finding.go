package explain

import (
	"fmt"
	"slices"
	"time"
)

// Severity says what a finding asks of its reader.
type Severity string

// The severities, the worst first.
const (
	// Stuck : nothing goes on until somebody acts.
	Stuck Severity = "stuck"
	// Waiting : it is on its way.
	Waiting Severity = "waiting"
	// Unknown : it was not to be read.
	Unknown Severity = "unknown"
	// Note : as it was asked for, and worth knowing.
	Note Severity = "note"
	// OK : all is well.
	OK Severity = "ok"
)

// rank orders severities, the worst first.
func (s Severity) rank() int {
	return slices.Index([]Severity{Stuck, Waiting, Unknown, Note, OK}, s)
}

// Finding is one thing that is the matter with an object.
type Finding struct {
	// Object is what was asked about, as sandbox/NAME.
	Object string `json:"object"`
	// Part is the object below it that is at fault, as sandbox/NAME of a claim; empty if it is the object itself.
	Part string `json:"part,omitempty"`
	// Severity of it.
	Severity Severity `json:"severity"`
	// Cause is a word for programs.
	Cause Cause `json:"cause"`
	// What is the matter, in a sentence.
	What string `json:"what"`
	// Why is the evidence: what a condition, a Pod or an Event says.
	Why string `json:"why,omitempty"`
	// Since is when it began, as far as that is known.
	Since *time.Time `json:"since,omitempty"`
	// Next are commands that show more or mend it, the first one first.
	Next []string `json:"next,omitempty"`
}

// because adds the evidence.
func (f Finding) because(why string, args ...any) Finding {
	f.Why = why
	if len(args) > 0 {
		f.Why = fmt.Sprintf(why, args...)
	}
	return f
}

// since tells when it began; a zero time tells nothing.
func (f Finding) since(began time.Time) Finding {
	if !began.IsZero() {
		f.Since = &began
	}
	return f
}

// next adds commands.
func (f Finding) next(commands ...string) Finding {
	f.Next = append(f.Next, commands...)
	return f
}

func found(severity Severity, cause Cause, what string, args ...any) Finding {
	return Finding{Severity: severity, Cause: cause, What: fmt.Sprintf(what, args...)}
}

// Worst returns the finding of the worst severity, of several the first; the zero Finding if there is none.
func Worst(findings []Finding) Finding {
	if len(findings) == 0 {
		return Finding{}
	}
	return slices.MinFunc(findings, func(a, b Finding) int { return a.Severity.rank() - b.Severity.rank() })
}

// Count returns how many findings have the severity.
func Count(findings []Finding, severity Severity) int {
	count := 0
	for _, f := range findings {
		if f.Severity == severity {
			count++
		}
	}
	return count
}

// about sets the object of all findings. Those of another object become findings about a part of it.
func about(object string, findings []Finding) []Finding {
	told := make([]Finding, len(findings))
	for i, f := range findings {
		if f.Object != "" && f.Object != object {
			f.Part = f.Object
		}
		f.Object = object
		told[i] = f
	}
	return told
}

// check looks for one cause; it returns nothing when that is not it.
type check func(Seen) []Finding

// first returns what the first check that finds something finds.
func first(seen Seen, checks ...check) []Finding {
	for _, check := range checks {
		if findings := check(seen); len(findings) > 0 {
			return findings
		}
	}
	return nil
}

func one(f Finding) []Finding { return []Finding{f} }
