// Package chart writes what the Helm chart does not say itself: objects that kustomize/base has already, the defaults of flags,
// and the table of values in its README.
package chart
