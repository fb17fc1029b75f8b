// Package rest is the HTTP API of the daemon: files, health, and what the sandbox was told about itself.
package rest
