// Package proxy carries requests to sandboxes and their answers back: it decides what of a request a sandbox sees, how long it may take,
// what is tried again, and what a client is told when there is no answer.
package proxy
