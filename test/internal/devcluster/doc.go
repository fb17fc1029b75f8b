// Package devcluster runs real Kubernetes control planes on this machine, each
// with simulated nodes: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, KWOK and a volume provisioner as plain processes on loopback,
// with certificates and RBAC of their own. It owns what lies under a cluster's
// state directory and the processes recorded there, and nothing else.
//
// Up builds what is missing, starts a cluster or repairs it, and returns when
// it is ready. Its processes outlive the caller; Down ends them. A component
// that was ended with Kill comes back by another Up:
//
//	cluster, err := devcluster.Up(ctx, devcluster.Options{Root: root, Name: "chaos", Nodes: 10, Out: os.Stderr})
//	...
//	defer cluster.Down(ctx)
//	config, err := cluster.RESTConfig()
//	...
//	err = cluster.Kill(ctx, devcluster.APIServer, syscall.SIGKILL)
//	cluster, err = devcluster.Up(ctx, options) // the same ports, the same data
//
// The processes are told apart by /proc, so that this works on Linux only.
package devcluster
