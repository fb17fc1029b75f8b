// Package schedule decides, from a seed alone, what the users of a chaos run do, and when controllers are killed. What comes
// of it depends on the cluster; the schedule does not.
package schedule
