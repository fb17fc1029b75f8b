// Package sighting watches several kinds of objects through restarts of the API server, and tells all changes in the order in which
// they happened, whichever watch told them first. What no watch told, and only a later list shows, is marked.
package sighting
