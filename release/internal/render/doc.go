// Package render decides what each release asset holds: it builds a kustomize overlay, pins its images, labels
// everything with the version and puts the objects into the order in which they can be applied.
package render
