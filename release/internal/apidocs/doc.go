// Package apidocs writes the reference of the API: every field from the CustomResourceDefinitions, and every condition, reason, Event,
// label and annotation from the constants of the API packages.
package apidocs
