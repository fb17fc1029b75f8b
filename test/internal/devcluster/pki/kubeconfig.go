package pki

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig that holds all it needs: the certificates
// and keys are copied into it.
func WriteKubeconfig(path, cluster, server, dir, authority, user string) error {
	files := map[string][]byte{}
	for _, name := range []string{authority + ".crt", user + ".crt", user + ".key"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("reading a certificate for a kubeconfig: %w", err)
		}
		files[name] = data
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: files[authority+".crt"]}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: files[user+".crt"],
		ClientKeyData:         files[user+".key"],
	}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
