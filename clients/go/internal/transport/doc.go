// Package transport sends HTTP requests into a sandbox, through a router or straight to its daemon: with a deadline, without following
// redirects, and again where that is safe.
package transport
