// Package lock lets one process at a time work on something that is named by a
// file, such as the directory of built binaries or the state of one cluster.
package lock
