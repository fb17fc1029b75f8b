// Package blueprint builds Sandboxes from templates, for pools and claims alike, and decides whether a Sandbox is what its
// template would build now.
package blueprint
