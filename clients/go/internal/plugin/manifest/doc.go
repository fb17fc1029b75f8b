// Package manifest decides what the objects look like that create and claim make. It is pure.
package manifest
