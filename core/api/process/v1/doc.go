// Package processv1 is the gRPC API of the daemon in a sandbox: messages, client and server of process.v1.ProcessService.
package processv1
