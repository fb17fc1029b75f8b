package reference

import (
	"fmt"
	"slices"
	"strings"

	routerprogram "sigs.k8s.io/agent-sandbox/core/cmd/router/program"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// routerFlagTable has a table for each group of the router's flags.
func routerFlagTable(flags []app.Flag) string {
	var text strings.Builder
	for n, flag := range flags {
		if n == 0 || flags[n-1].Group != flag.Group {
			fmt.Fprintf(&text, "\n### %s of the router\n\n| flag | type | default | meaning |\n| --- | --- | --- | --- |\n", flag.Group)
		}
		fmt.Fprintf(&text, "| `--%s` | %s | %s | %s |\n", flag.Name, typeOf(flag.Type), defaultOf(flag.Default), cell(flag.Usage))
	}
	return text.String() + "\n"
}

// routerMetricTable has a row for each metric of the router.
func routerMetricTable() (string, error) {
	var found registry
	if err := routerprogram.RegisterMetrics(&found); err != nil {
		return "", fmt.Errorf("registering the metrics of the router: %w", err)
	}
	slices.SortFunc(found.metrics, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	var text strings.Builder
	text.WriteString("\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, m := range found.metrics {
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), cell(m.help))
	}
	return text.String() + "\n", nil
}
