// Package promises keeps account of what is promised of claims and Sandboxes, for those who watch them.
package promises
