// Package await waits, by watches, for what is wanted of objects, and when that does not come it tells what was seen
// instead: the object's conditions and its Events.
package await
