// Package preflight runs the command of that name on real API servers: on one that is empty, and on ones where something stands in
// the way of an installation.
package preflight
