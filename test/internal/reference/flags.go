package reference

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/shared/app"
)

// flagRow is a flag of either controller.
type flagRow struct {
	app.Flag
	// core and extensions say in which of the two it has an effect.
	core, extensions bool
}

// flagTable has a table for each group of flags.
func flagTable(both programs) (string, error) {
	rows, err := mergeFlags(app.Flags(both.core), app.Flags(both.extensions))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for n, row := range rows {
		if n == 0 || rows[n-1].Group != row.Group {
			fmt.Fprintf(&text, "\n### %s\n\n| flag | type | default | acts on | meaning |\n| --- | --- | --- | --- | --- |\n", row.Group)
		}
		fmt.Fprintf(&text, "| `--%s` | %s | %s | %s | %s |\n", row.Name, typeOf(row.Type), defaultOf(row.Default), row.actsOn(), cell(row.Usage))
	}
	return text.String() + "\n", nil
}

// mergeFlags makes a row of each flag, in groups: those of the core first. It is an error where the controllers do not agree.
func mergeFlags(core, extensions []app.Flag) ([]flagRow, error) {
	var rows []flagRow
	for _, flag := range core {
		other := find(extensions, flag.Name)
		if other == nil {
			return nil, fmt.Errorf("--%s is unknown to the extensions: one block of arguments must start either", flag.Name)
		}
		if flag.Type != other.Type || flag.Default != other.Default || !flag.Inert && !other.Inert && flag.Usage != other.Usage {
			return nil, fmt.Errorf("--%s is not the same in both controllers: %+v, %+v", flag.Name, flag, *other)
		}
		row := flagRow{Flag: flag, core: !flag.Inert, extensions: !other.Inert}
		if flag.Inert && !other.Inert {
			row.Flag = *other
		}
		if flag.Inert && other.Inert {
			row.Group, row.Usage = "Without effect", "Accepted for arguments of the public project."
		}
		rows = append(rows, row)
	}
	for _, flag := range extensions {
		if find(core, flag.Name) == nil {
			return nil, fmt.Errorf("--%s is unknown to the core: one block of arguments must start either", flag.Name)
		}
	}
	return grouped(rows), nil
}

func find(flags []app.Flag, name string) *app.Flag {
	for n := range flags {
		if flags[n].Name == name {
			return &flags[n]
		}
	}
	return nil
}

// grouped puts the rows of a group together: groups whose flags act on one controller first, then those of both, each in the order of
// their first flag.
func grouped(rows []flagRow) []flagRow {
	var order []string
	for _, own := range []bool{true, false} {
		for _, row := range rows {
			if (row.core != row.extensions) == own && !slices.Contains(order, row.Group) {
				order = append(order, row.Group)
			}
		}
	}
	var sorted []flagRow
	for _, group := range order {
		for _, row := range rows {
			if row.Group == group {
				sorted = append(sorted, row)
			}
		}
	}
	return sorted
}

func (r flagRow) actsOn() string {
	switch {
	case r.core && r.extensions:
		return "both"
	case r.core:
		return "core"
	case r.extensions:
		return "extensions"
	}
	return "neither"
}

// typeOf is the type as readers know it: the logger has types of its own for what is a word to them.
func typeOf(name string) string {
	switch name {
	case "bool", "int", "duration", "string":
		return name
	case "int64":
		return "int"
	case "float32", "float64":
		return "number"
	case "stringSlice":
		return "list"
	}
	return "string"
}

func defaultOf(value string) string {
	if value == "" || value == "[]" {
		return ""
	}
	return "`" + value + "`"
}
