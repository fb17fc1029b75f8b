// Package template keeps one NetworkPolicy for all Pods of a SandboxTemplate in step with it.
package template
