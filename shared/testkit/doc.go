// Package testkit is what tests of controllers stand on: a real API server, a kubelet that answers at once, a count of
// the writes, and patience with a reason.
package testkit
