// Package e2e tests Sandboxes on a real control plane with scheduler, controller manager, volumes and nodes. Its tests
// have the build tag e2e. They start a cluster with simulated nodes, or use the one of --kubeconfig; the controller
// runs on this machine under its rendered role.
package e2e
