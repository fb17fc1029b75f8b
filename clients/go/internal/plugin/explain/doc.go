// Package explain decides, from objects and Events that were read and the time of it, what is the matter with a Sandbox, a claim, a pool, a
// template or the controllers: what, why, and what to do next. It reads nothing itself.
package explain
