// Package coredns pins CoreDNS for devcluster's real node. It has a go.mod of its own, outside go.work, because its
// dependencies clash with the project's. After raising a version fill go.sum with "go list -mod=mod -deps tool": "go mod tidy"
// would raise more than that.
package coredns
