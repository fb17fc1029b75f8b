// Package audit counts API requests, by who sent them and what they did, from an API server's audit log. The server's own
// metrics know no user, and a client's know no resource; the log has both, and misses nothing.
package audit
