// Package claims makes, follows and deletes claims, and reads the Sandboxes that they get: all that the clients ask of the API server
// about our kinds, by typed clients of client-go.
package claims
