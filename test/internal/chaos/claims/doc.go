// Package claims judges what is promised of claims, pools and their Sandboxes: each change when it is seen, and all there is in the end.
package claims
