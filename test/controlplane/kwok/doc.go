// Package kwok pins KWOK, which simulates nodes and the life of their Pods; its
// stage sets are read from the same module. It has a go.mod of its own, outside
// go.work, because it needs an older Kubernetes than the project's. After
// raising a version fill go.sum with "go list -mod=mod -deps tool":
// "go mod tidy" would raise more than that.
package kwok
