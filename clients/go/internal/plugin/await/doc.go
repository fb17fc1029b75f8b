// Package await waits, by watches, for what a command brought about, and says meanwhile what is being waited for.
package await
