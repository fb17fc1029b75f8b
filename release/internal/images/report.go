package images

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

const mebibyte = 1 << 20

// Format is the form in which results are written; it is a flag.Value.
type Format string

// The forms there are.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// String is the form's name.
func (f *Format) String() string {
	return string(*f)
}

// Set takes the name of a form that there is.
func (f *Format) Set(value string) error {
	switch format := Format(value); format {
	case FormatText, FormatJSON:
		*f = format
		return nil
	}
	return fmt.Errorf("choose %s or %s", FormatText, FormatJSON)
}

// WriteBuilt writes one row for each image that was built.
func WriteBuilt(w io.Writer, format Format, built []Built) error {
	if format == FormatJSON {
		return writeJSON(w, built)
	}
	rows := []string{"IMAGE\tPLATFORMS\tSIZE\tDIGEST"}
	for _, row := range built {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%.1f MiB\t%s", row.Image, strings.Join(row.Platforms, ","), float64(row.Size)/mebibyte, row.Digest))
	}
	return writeTable(w, rows)
}

// WritePushed writes one row for each image that was pushed.
func WritePushed(w io.Writer, format Format, pushed []Pushed) error {
	if format == FormatJSON {
		return writeJSON(w, pushed)
	}
	rows := []string{"REFERENCE\tDIGEST"}
	for _, row := range pushed {
		rows = append(rows, row.Reference+"\t"+row.Digest)
	}
	return writeTable(w, rows)
}

func writeTable(w io.Writer, rows []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(rows, "\n"))
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table of images: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, rows any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(rows); err != nil {
		return fmt.Errorf("writing the images as JSON: %w", err)
	}
	return nil
}
