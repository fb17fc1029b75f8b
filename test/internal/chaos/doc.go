// Package chaos lets users do to Sandboxes all that can be done to them while their controllers are killed without warning,
// and judges what comes of it: at every moment by what a watch tells, and in the end object by object.
package chaos
