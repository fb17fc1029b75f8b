// Package process starts daemons that outlive their starter, knows each of them
// again by more than its pid, and stops them for good. It reads /proc, and so
// works on Linux only.
package process
