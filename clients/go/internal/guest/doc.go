// Package guest says in what terms the clients speak of what happens inside a sandbox, whichever runtime answers there.
package guest
