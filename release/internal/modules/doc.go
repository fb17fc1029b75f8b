// Package modules releases the Go modules of this repository that others import: it writes down which versions of each other they
// require, and tags them.
package modules
