// Package bench measures what our controllers add to what any client would have to do: a floor without them and the same
// work with them, in turn, in one run, on one control plane. It reports ratios, requests, CPU and memory; it judges counts
// and never times.
package bench
