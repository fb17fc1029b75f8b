package devcluster

import (
	"fmt"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

const (
	serviceCIDR = "10.96.0.0/16"
	// simulatedPodCIDR is where KWOK takes the addresses of its Pods from; it
	// must not meet the range of a real node's Pods.
	simulatedPodCIDR = "10.245.0.0/16"
	// The default client limits of the controller manager and the scheduler are
	// far below what one machine can do, and would be the bottleneck.
	clientQPS   = "500"
	clientBurst = "1000"
)

func etcdArgs(l layout) []string {
	client, peer := l.url("https", Etcd), l.url("https", etcdPeer)
	return []string{
		"--name=devcluster",
		"--data-dir=" + l.path(etcdDir),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=devcluster=" + peer,
		"--cert-file=" + l.cert(etcdServer),
		"--key-file=" + l.key(etcdServer),
		"--trusted-ca-file=" + l.cert(etcdCA),
		"--client-cert-auth=true",
		"--peer-cert-file=" + l.cert(etcdServer),
		"--peer-key-file=" + l.key(etcdServer),
		"--peer-trusted-ca-file=" + l.cert(etcdCA),
		"--peer-client-cert-auth=true",
		// The data need not outlive the machine's power.
		"--unsafe-no-fsync=true",
	}
}

func apiServerArgs(l layout) []string {
	where := []string{
		"--bind-address=" + ports.Loopback,
		"--advertise-address=" + ports.Loopback,
		// A loopback address cannot be an endpoint of the Service kubernetes.
		"--endpoint-reconciler-type=none",
	}
	if l.real {
		where = []string{"--bind-address=0.0.0.0", "--advertise-address=" + node.Address}
	}
	return append(where,
		fmt.Sprintf("--secure-port=%d", l.ports[APIServer]),
		"--etcd-servers="+l.url("https", Etcd),
		"--etcd-cafile="+l.cert(etcdCA),
		"--etcd-certfile="+l.cert(etcdClient),
		"--etcd-keyfile="+l.key(etcdClient),
		"--service-cluster-ip-range="+serviceCIDR,
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--tls-cert-file="+l.cert(apiServerServer),
		"--tls-private-key-file="+l.key(apiServerServer),
		"--client-ca-file="+l.cert(clusterCA),
		"--kubelet-client-certificate="+l.cert(kubeletClient),
		"--kubelet-client-key="+l.key(kubeletClient),
		"--kubelet-certificate-authority="+l.cert(clusterCA),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+l.path(pkiDir, serviceAccountKey+".pub"),
		"--service-account-signing-key-file="+l.key(serviceAccountKey),
		"--requestheader-client-ca-file="+l.cert(frontProxyCA),
		"--requestheader-allowed-names="+frontProxyClient,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file="+l.cert(frontProxyClient),
		"--proxy-client-key-file="+l.key(frontProxyClient),
	)
}

// controllerArgs are those that the controller manager and the scheduler share.
func controllerArgs(l layout, name string) []string {
	kubeconfig := l.kubeconfig(name)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + ports.Loopback,
		fmt.Sprintf("--secure-port=%d", l.ports[name]),
		"--tls-cert-file=" + l.cert(name),
		"--tls-private-key-file=" + l.key(name),
		"--leader-elect=false",
		"--kube-api-qps=" + clientQPS,
		"--kube-api-burst=" + clientBurst,
	}
}

func controllerManagerArgs(l layout) []string {
	return append(controllerArgs(l, ControllerManager),
		"--use-service-account-credentials=true",
		"--root-ca-file="+l.cert(clusterCA),
		"--service-account-private-key-file="+l.key(serviceAccountKey),
		"--cluster-signing-cert-file="+l.cert(clusterCA),
		"--cluster-signing-key-file="+l.key(clusterCA),
		"--controllers=*",
		// A simulated node would be given the range of a real one.
		"--allocate-node-cidrs=false",
		"--service-cluster-ip-range="+serviceCIDR,
	)
}

func schedulerArgs(l layout) []string {
	return controllerArgs(l, Scheduler)
}

func kwokArgs(l layout) []string {
	return []string{
		"--kubeconfig=" + l.kubeconfig(Kwok),
		"--config=" + l.path(stagesFile),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=" + simulatedAnnotation + "=" + simulatedValue,
		"--node-lease-duration-seconds=40",
		"--cidr=" + simulatedPodCIDR,
		"--node-ip=" + ports.Loopback,
		"--node-name=kwok-controller",
		// KWOK serves HTTP and, as a kubelet does to the kube-apiserver, HTTPS on one port.
		fmt.Sprintf("--node-port=%d", l.ports[Kwok]),
		"--tls-cert-file=" + l.cert(kwokServing),
		"--tls-private-key-file=" + l.key(kwokServing),
		fmt.Sprintf("--server-address=%s:%d", ports.Loopback, l.ports[Kwok]),
	}
}

func provisionerArgs(l layout) []string {
	return []string{
		"provisioner",
		"--kubeconfig=" + l.kubeconfig(Provisioner),
		"--dir=" + l.path(volumesDir),
		"--real-node=" + RealNode,
	}
}
