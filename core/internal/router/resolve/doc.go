// Package resolve decides where the Pod of a sandbox is: it watches the Pods of sandboxes, and asks the API server about those that it
// does not know, or that still look as if nobody had claimed them.
package resolve
