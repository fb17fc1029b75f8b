// Package manifest reads rendered YAML into typed Kubernetes objects, and refuses fields and kinds that it does
// not know, so that nothing in an asset goes unchecked.
package manifest
