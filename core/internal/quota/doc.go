// Package quota tells which ResourceQuota or LimitRange of a namespace refuses an object, and why. The API server says so in
// prose alone; this package works it out from the objects, as admission does.
package quota
