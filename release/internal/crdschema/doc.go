// Package crdschema decides which fields of a CustomResourceDefinition keep their descriptions, and how large
// one may grow.
package crdschema
