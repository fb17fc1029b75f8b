// Package sim runs the controllers, as they are, against an API server in memory: with caches that lag, writes that fail, that
// land late or unanswered, processes that crash, two leaders at once, and users who delete things. Everything that happens is
// drawn from a seed. What must never happen is checked at each write, what must come to be once everything is quiet.
package sim
