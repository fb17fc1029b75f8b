// Package archive turns files of this machine into a tar stream for a container, and a tar stream of a container into files of this machine.
// The container is not trusted: nothing of its stream gets outside of the place that it is for.
package archive
