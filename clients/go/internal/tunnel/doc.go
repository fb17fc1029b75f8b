// Package tunnel forwards local ports to those of a Pod through the API server, as kubectl port-forward does, without kubectl.
package tunnel
