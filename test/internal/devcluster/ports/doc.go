// Package ports finds free TCP ports on the loopback address and keeps others
// from taking them until their server starts.
package ports
