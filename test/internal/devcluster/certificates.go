package devcluster

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/pki"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

// The names of authorities, keys and certificates. Components that identify
// themselves to the API server have a certificate of their own name.
const (
	clusterCA         = "ca"
	etcdCA            = "etcd-ca"
	frontProxyCA      = "front-proxy-ca"
	serviceAccountKey = "service-account"
	admin             = "admin"
	apiServerServer   = "apiserver"
	kubeletClient     = "apiserver-kubelet-client"
	kwokServing       = "kwok-serving"
	etcdServer        = "etcd"
	etcdClient        = "apiserver-etcd-client"
	frontProxyClient  = "front-proxy-client"
)

const (
	mastersGroup = "system:masters"
	// userPrefix begins the names of the users that objects.yaml grants roles.
	userPrefix = "devcluster:"
)

// users are those who get a kubeconfig.
func users() []string {
	return []string{admin, ControllerManager, Scheduler, Kwok, Provisioner, Kubelet, KubeProxy, KubeRouter}
}

// certificates describes all keys and certificates of a cluster. etcd and the
// front proxy have authorities of their own, or whoever gets a certificate from
// the cluster's would be let in there.
func certificates() pki.Set {
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	masters, nodes := []string{mastersGroup}, []string{"system:nodes"}
	local, localIPs := []string{"localhost"}, []net.IP{net.ParseIP(ports.Loopback)}
	return pki.Set{
		SigningKey: serviceAccountKey,
		Authorities: []pki.Authority{
			{Name: clusterCA, CommonName: "kubernetes-ca"},
			{Name: etcdCA, CommonName: "etcd-ca"},
			{Name: frontProxyCA, CommonName: "front-proxy-ca"},
		},
		Certificates: []pki.Certificate{
			{Name: etcdServer, Authority: etcdCA, CommonName: "etcd", Usages: both, DNSNames: local, IPs: localIPs},
			{Name: etcdClient, Authority: etcdCA, CommonName: APIServer, Usages: client},
			{Name: frontProxyClient, Authority: frontProxyCA, CommonName: frontProxyClient, Usages: client},
			{
				Name: apiServerServer, Authority: clusterCA, CommonName: APIServer, Usages: server,
				DNSNames: []string{
					"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
					"kubernetes.default.svc.cluster.local",
				},
				IPs: []net.IP{net.ParseIP(ports.Loopback), net.ParseIP("10.96.0.1"), net.ParseIP(node.Address)},
			},
			{Name: kubeletClient, Authority: clusterCA, CommonName: kubeletClient, Organizations: masters, Usages: client},
			{Name: admin, Authority: clusterCA, CommonName: admin, Organizations: masters, Usages: client},
			{
				Name: ControllerManager, Authority: clusterCA, CommonName: "system:" + ControllerManager,
				Usages: both, DNSNames: local, IPs: localIPs,
			},
			{
				Name: Scheduler, Authority: clusterCA, CommonName: "system:" + Scheduler,
				Usages: both, DNSNames: local, IPs: localIPs,
			},
			{Name: Kwok, Authority: clusterCA, CommonName: userPrefix + Kwok, Usages: client},
			{Name: kwokServing, Authority: clusterCA, CommonName: kwokServing, Usages: server, DNSNames: local, IPs: localIPs},
			{Name: Provisioner, Authority: clusterCA, CommonName: userPrefix + Provisioner, Usages: client},
			{Name: Kubelet, Authority: clusterCA, CommonName: nodeUser, Organizations: nodes, Usages: client},
			{
				Name: kubeletServing, Authority: clusterCA, CommonName: nodeUser, Organizations: nodes, Usages: server,
				DNSNames: []string{RealNode}, IPs: []net.IP{net.ParseIP(node.Address)},
			},
			{Name: KubeProxy, Authority: clusterCA, CommonName: proxyUser, Usages: client},
			{Name: KubeRouter, Authority: clusterCA, CommonName: userPrefix + KubeRouter, Usages: client},
		},
	}
}

// writeIdentities makes the certificates and the kubeconfig files.
func writeIdentities(l layout, cluster string, now time.Time) error {
	if err := pki.Ensure(l.path(pkiDir), certificates(), now); err != nil {
		return err
	}
	if err := os.MkdirAll(l.path(kubeconfigDir), 0o700); err != nil {
		return fmt.Errorf("creating a directory for kubeconfigs: %w", err)
	}
	for _, user := range users() {
		err := pki.WriteKubeconfig(
			l.kubeconfig(user), "devcluster-"+cluster, l.url("https", APIServer), l.path(pkiDir), clusterCA, user)
		if err != nil {
			return err
		}
	}
	return nil
}

// healthClient returns a client that trusts the components of this cluster
// only, that etcd lets in, and that looks where they are.
func (c *Cluster) healthClient() (*http.Client, error) {
	l := c.layout
	pool := x509.NewCertPool()
	for _, name := range []string{clusterCA, etcdCA} {
		data, err := os.ReadFile(l.cert(name))
		if err != nil {
			return nil, fmt.Errorf("reading an authority: %w", err)
		}
		pool.AppendCertsFromPEM(data)
	}
	certificate, err := tls.LoadX509KeyPair(l.cert(etcdClient), l.key(etcdClient))
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate for etcd: %w", err)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: pool, GetClientCertificate: onlyWhereKnown(&certificate)},
	}
	if c.settings.Real {
		transport.DialContext = node.Dialer(c.holder)
	}
	const patience = 5 * time.Second
	return &http.Client{Timeout: patience, Transport: transport}, nil
}

// onlyWhereKnown shows the certificate to servers that name its authority, and
// none to others. Go would also show it to a server that names no authority at
// all, as the scheduler does until it has read its configuration; it then
// refuses whom it would serve without a certificate.
func onlyWhereKnown(certificate *tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(info.AcceptableCAs) > 0 && info.SupportsCertificate(certificate) == nil {
			return certificate, nil
		}
		return &tls.Certificate{}, nil
	}
}
