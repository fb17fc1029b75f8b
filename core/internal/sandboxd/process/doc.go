// Package process owns the programs that run in the sandbox on request: how many, for how long, what they are given, and that nothing of
// them is left when they end. It runs whatever it is asked to: its callers may run anything anyway, and a list of programs that are allowed
// would only look like a boundary.
package process
