// Package warmpool keeps a pool at its size: it decides which members are made, which go, and when it waits instead.
package warmpool
