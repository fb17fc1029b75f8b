// Package preflight decides what stands in the way of installing Agent Sandbox on a cluster, and of running it there. Observe
// reads, Check decides over what was read and needs no cluster, WriteText and WriteJSON tell. Nothing is ever written to the
// cluster.
package preflight
