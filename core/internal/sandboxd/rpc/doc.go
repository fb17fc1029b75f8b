// Package rpc is the gRPC API of the daemon: process.v1.ProcessService on top of package process.
package rpc
