// Package candidates knows, per pool, the members that a claim may take, and hands each out once.
package candidates
