// Package helm renders the chart with Helm's own library. It is a module outside go.work, since Helm asks for later versions of what the
// other modules share with Kubernetes' own build.
package helm
