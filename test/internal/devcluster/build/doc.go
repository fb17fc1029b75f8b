// Package build makes the programs of a cluster from pinned Go modules, and
// decides by a stamp beside each whether it is still the one that the pins,
// flags and Go version describe.
package build
