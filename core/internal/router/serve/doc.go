// Package serve owns the listeners of the router: how long it takes on requests, how it ends without breaking those under way, and its
// certificates.
package serve
