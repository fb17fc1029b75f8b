// Package check judges a namespace: whether every Sandbox is as its user left it, and every child as its Sandbox says. It
// takes what was read and what users know, and reads nothing itself beyond that.
package check
