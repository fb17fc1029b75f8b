// Package auth decides who may speak to which sandbox.
package auth
