// Package kube pins the Kubernetes that devcluster and envtest run. It has a
// go.mod of its own, outside go.work, because k8s.io/kubernetes needs a replace
// directive for each of its staging modules. After raising a version fill
// go.sum with "go list -mod=mod -deps tool": "go mod tidy" would raise more
// than that. kubelet and kube-proxy belong to a real node; a cluster of
// simulated nodes needs neither.
package kube
