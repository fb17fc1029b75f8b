// Package target decides which sandbox a request is for: it reads the request's headers, or its path, and refuses what is malformed.
package target
