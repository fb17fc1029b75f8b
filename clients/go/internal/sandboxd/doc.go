// Package sandboxd speaks to the daemon in a sandbox: processes over gRPC, files over HTTP.
package sandboxd
