// Package etcd pins the etcd server that devcluster and envtest run. It has a
// go.mod of its own, outside go.work, because etcd's dependencies clash with
// those of Kubernetes. After raising a version fill go.sum with
// "go list -mod=mod -deps tool": "go mod tidy" would raise more than that.
package etcd
