// Package app runs a controller manager: its flags, its logger, its endpoints, its leader election and its end.
package app
