// Package generate owns the generated files: deepcopy functions, CustomResourceDefinitions and roles. It runs
// controller-gen once per module and puts the results where kustomize expects them.
package generate
