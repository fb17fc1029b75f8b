// Package telemetry measures and follows what controllers do, without changing it: latencies that are counted once, and spans
// that continue the trace of whoever made an object.
package telemetry
