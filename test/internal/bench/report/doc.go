// Package report holds what benchmarks found, and writes it for people and for programs.
package report
