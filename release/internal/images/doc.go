// Package images makes the container images of the release and sends them to registries, without a container
// engine: it compiles each program, puts the binary as the only file into an image from scratch, and writes one
// archive for each image. Same sources and same Go give same bytes.
package images
