// Package screen decides how objects and findings look: tables, the screen of doctor, and the line of progress. It reads nothing, and what
// comes from the cluster cannot steer the terminal.
package screen
