// Package sandbox is the Sandbox controller: one Pod, the PersistentVolumeClaims and the headless Service of each
// Sandbox, its suspension, its expiry and its status.
//
// A reconcile observes (observe.go), decides (decide.go and the *_step.go files, pure), acts (act.go) and reports
// (report.go and the condition files, pure but for one patch).
package sandbox
