// Package steps runs named commands one after another and says at the end where the time went.
package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ReportVariable is the environment variable that names the file to which a run inside a step adds its own rows,
// so that the outermost table shows them.
const ReportVariable = "STEPS_REPORT"

const (
	// succeeded is the result of a step that did not fail.
	succeeded = "ok"
	// outputDelay is for how long the output is read on of what a step has left running.
	outputDelay = 10 * time.Second
)

// Step is one command line for the shell.
type Step struct {
	Name    string
	Command string
}

// Row is one finished step.
type Row struct {
	// Name of the step, after those of the steps around it, separated by " / ".
	Name string `json:"name"`
	// Elapsed is wall time.
	Elapsed time.Duration `json:"elapsed"`
	// Result is succeeded, or what the command ended with.
	Result string `json:"result"`
	// Why is what the output of a failed step says of it, where no step inside it does.
	Why string `json:"why,omitempty"`
}

// ErrFailed is returned if a step failed. Its output and the table have said which and why.
var ErrFailed = errors.New("a step failed")

// Parse reads steps as they stand on a command line, name=command.
func Parse(args []string) ([]Step, error) {
	var parsed []Step
	for _, arg := range args {
		name, command, ok := strings.Cut(arg, "=")
		if !ok || name == "" || command == "" {
			return nil, fmt.Errorf("step %q: want name=command", arg)
		}
		parsed = append(parsed, Step{Name: name, Command: command})
	}
	if len(parsed) == 0 {
		return nil, errors.New("no steps: want at least one name=command")
	}
	return parsed, nil
}

// Runner runs steps.
type Runner struct {
	now    func() time.Time
	stdout io.Writer
	stderr io.Writer
	report string
}

// New returns a Runner that streams the output of steps and adds its rows to the file report, if not empty.
func New(now func() time.Time, stdout, stderr io.Writer, report string) *Runner {
	return &Runner{now: now, stdout: stdout, stderr: stderr, report: report}
}

// Run runs all steps, also after one has failed, prints the table and returns ErrFailed if any failed. Once ctx is
// done no further step starts.
func (r *Runner) Run(ctx context.Context, steps []Step) error {
	var rows []Row
	var failed error
	for _, step := range steps {
		if ctx.Err() != nil {
			rows, failed = append(rows, Row{Name: step.Name, Result: "not run"}), ErrFailed
			continue
		}
		row, inner, err := r.runStep(ctx, step)
		if err != nil {
			return err
		}
		if row.Result != succeeded {
			failed = ErrFailed
		}
		rows = append(append(rows, row), inner...)
	}
	if err := WriteTable(r.stdout, rows); err != nil {
		return err
	}
	if r.report == "" {
		writeWhy(r.stdout, rows)
	}
	return errors.Join(failed, r.addToReport(rows))
}

func (r *Runner) runStep(ctx context.Context, step Step) (Row, []Row, error) {
	report, err := os.CreateTemp("", "steps-")
	if err != nil {
		return Row{}, nil, fmt.Errorf("making the report of step %s: %w", step.Name, err)
	}
	if err := report.Close(); err != nil {
		return Row{}, nil, fmt.Errorf("making the report of step %s: %w", step.Name, err)
	}
	fmt.Fprintf(r.stdout, "==> %s: %s\n", step.Name, step.Command)
	command := exec.CommandContext(ctx, "sh", "-c", step.Command)
	var why gist
	command.Stdout, command.Stderr = io.MultiWriter(r.stdout, &stream{to: &why}), io.MultiWriter(r.stderr, &stream{to: &why})
	command.WaitDelay = outputDelay
	command.Env = append(os.Environ(), ReportVariable+"="+report.Name())
	row := Row{Name: step.Name, Result: succeeded}
	start := r.now()
	if err := command.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		row.Result = err.Error()
	}
	row.Elapsed = r.now().Sub(start)
	inner, err := readReport(report.Name(), step.Name)
	if row.Result != succeeded && !slices.ContainsFunc(inner, func(r Row) bool { return r.Result != succeeded }) {
		row.Why = why.String()
	}
	return row, inner, errors.Join(err, os.Remove(report.Name()))
}

func readReport(path, parent string) ([]Row, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the report of step %s: %w", parent, err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	var rows []Row
	for decoder := json.NewDecoder(file); decoder.More(); {
		var row Row
		if err := decoder.Decode(&row); err != nil {
			return nil, fmt.Errorf("reading the report of step %s: %w", parent, err)
		}
		row.Name = parent + " / " + row.Name
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *Runner) addToReport(rows []Row) error {
	if r.report == "" {
		return nil
	}
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	file, err := os.OpenFile(r.report, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening the report: %w", err)
	}
	_, err = file.WriteString(lines.String())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// WriteTable writes one line for each row: name, seconds of wall time, result.
func WriteTable(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSTEP\tSECONDS\tRESULT")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%.1f\t%s\n", row.Name, row.Elapsed.Seconds(), row.Result)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table of steps: %w", err)
	}
	return nil
}

// writeWhy repeats, where it is seen, what failed steps said of why they did.
func writeWhy(w io.Writer, rows []Row) {
	for _, row := range rows {
		if row.Why != "" {
			fmt.Fprintf(w, "\n%s: %s:\n%s\n", row.Name, row.Result, row.Why)
		}
	}
}
