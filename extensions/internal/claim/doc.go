// Package claim gives every SandboxClaim one Sandbox of its own: one taken from a warm pool, or one that is started for it.
// It decides whose a Sandbox becomes, what a claim publishes, and when either goes.
package claim
