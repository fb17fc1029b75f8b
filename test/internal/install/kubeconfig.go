package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// tokenSeconds is how long a controller can work with its token. The API server may grant less.
const tokenSeconds = 24 * 60 * 60

// requestToken asks for a token of the ServiceAccount.
func requestToken(ctx context.Context, config *rest.Config, namespace, serviceAccount string) (string, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("creating a client to request a token with: %w", err)
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)},
	}
	granted, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token of ServiceAccount %s/%s: %w", namespace, serviceAccount, err)
	}
	return granted.Status.Token, nil
}

// writeKubeconfig writes a kubeconfig into dir, readable by its owner alone, that reaches the cluster of config with
// the token and with nothing else of config.
func writeKubeconfig(dir string, config *rest.Config, namespace, token string) (string, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", fmt.Errorf("finding the address of the API server: %w", err)
	}
	authority := config.CAData
	if len(authority) == 0 && config.CAFile != "" {
		if authority, err = os.ReadFile(config.CAFile); err != nil {
			return "", fmt.Errorf("reading the cluster's certificate authority: %w", err)
		}
	}
	const name = "controller"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   server.String(),
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
		CertificateAuthorityData: authority,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	file.CurrentContext = name
	path := filepath.Join(dir, "kubeconfig")
	// WriteToFile creates it with mode 0600.
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return path, nil
}
