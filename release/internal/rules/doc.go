// Package rules decides whether a rendered asset is fit to be installed: who may do what, how Pods run, whether
// every reference inside the asset leads somewhere, and how large and well described its API is.
package rules
