// Package protobuf writes the Go code of gRPC APIs beside their .proto files. It compiles these itself and hands the result to the plugins
// that the tool module pins, so that no protoc need be installed.
package protobuf
