package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// AssetsVariable names the directory that holds etcd and kube-apiserver.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// APIServer is a real kube-apiserver with its etcd.
type APIServer struct {
	// Config reaches it with every permission.
	Config *rest.Config
	env    *envtest.Environment
}

// StartAPIServer starts one and installs the CRDs of the given directories. Stop ends it. It enforces the permissions for owner
// references, which most clusters do not.
func StartAPIServer(crdDirs ...string) (*APIServer, error) {
	assets, err := findAssets()
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     crdDirs,
		ErrorIfCRDPathMissing: true,
	}
	// As on clusters that want a right of its own for owner references that block a deletion.
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err := env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting an API server: %w", err), env.Stop())
	}
	config.QPS = -1
	return &APIServer{Config: config, env: env}, nil
}

// Kubeconfig returns a kubeconfig that reaches it with every permission.
func (s *APIServer) Kubeconfig() []byte { return s.env.KubeConfig }

// Stop ends the API server and its etcd.
func (s *APIServer) Stop() error { return s.env.Stop() }

// NewAPIServer starts one without CRDs that ends with the test.
func NewAPIServer(t testing.TB) *APIServer {
	t.Helper()
	server, err := StartAPIServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// RunTests runs m beside an API server with the CRDs of the given directories, which it hands to use, and returns the
// exit code.
func RunTests(m *testing.M, use func(*APIServer), crdDirs ...string) int {
	server, err := StartAPIServer(crdDirs...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(server)
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// findAssets takes the variable, else what make builds into bin/k8s of this repository.
func findAssets() (string, error) {
	if dir := os.Getenv(AssetsVariable); dir != "" {
		return dir, nil
	}
	root, err := FindRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "k8s")
	for _, binary := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, binary)); err != nil {
			return "", fmt.Errorf("these tests need a real API server: run `make test-integration` once, which builds one, or set %s: %w", AssetsVariable, err)
		}
	}
	return dir, nil
}

// FindRoot returns the root of the repository: the nearest directory upwards that holds go.work.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("finding the repository: no go.work in this directory or above")
		}
	}
}

// Namespace makes a namespace for one test and returns its name.
func Namespace(t testing.TB, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(context.Background(), namespace); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return namespace.Name
}
