// Package install puts Agent Sandbox on a cluster the way a user does: it applies the objects of a rendered asset, and
// it runs a controller as a local process with exactly the rights that the asset gives it.
package install
