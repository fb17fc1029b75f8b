// Package demo shows what Sandboxes and claims are: it tells their lives on a real control plane as a timeline.
package demo
