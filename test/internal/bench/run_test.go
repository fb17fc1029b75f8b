package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

// TestRunOnAnExistingCluster goes through both sides on a real API server that has no garbage collector, no audit log
// and a kubelet that answers at once.
func TestRunOnAnExistingCluster(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.NewAPIServer(t)
	testkit.StartKubelet(t, server.Config)
	serviceAccount := startServiceAccounts(t, server.Config)

	var lines strings.Builder
	found, err := Run(t.Context(), Options{
		Root: root, Kubeconfig: writeKubeconfig(t, server.Config),
		Cases: Names(), Count: 3, Parallel: 2, Rounds: 1, Duration: 500 * time.Millisecond, Scale: 20, Nodes: 1, Progress: &lines,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, lines.String())
	}
	if err := <-serviceAccount; err != nil {
		t.Error(err)
	}
	var phases []string
	for _, c := range found.Cases {
		for _, p := range c.Phases {
			phases = append(phases, p.Name)
			for _, f := range p.Figures {
				checkFigure(t, c.Name+": "+p.Name, f)
			}
		}
	}
	const wantPhases = "create suspend resume claim claim claim claim claim fill" +
		" create among 1 suspend among 1 resume among 1 claim among 1 create among 20 suspend among 20 resume among 20 claim among 20"
	if got := strings.Join(phases, " "); got != wantPhases {
		t.Errorf("phases are %s", got)
	}
	for _, want := range []string{"round 1 of 1, floor: resume of 3 in", "round 1 of 1, ours: create of 3 in", "round 1 of 1, ours: fill of 3 in",
		"before round 1 of 1 of claims-sustained, floor: rate of claims-burst is", "scale, round 1 of 1, ours: crowd of 20, ", "cleaning up"} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("progress does not say %q:\n%s", want, lines.String())
		}
	}
}

func checkFigure(t *testing.T, phase string, f report.Figure) {
	t.Helper()
	switch {
	case f.Ours == nil && f.Unit != report.Times && !strings.HasPrefix(f.Name, "cold"):
		t.Errorf("%s: %s of ours is missing", phase, f.Name)
	case f.Ours == nil: // each claim found a member
	case (f.Name == "rate" || strings.HasPrefix(f.Name, "latency")) && (f.Floor == nil || f.Ratio == nil):
		t.Errorf("%s: %s of the floor is missing", phase, f.Name)
	case f.Name == "rate" && f.Ours.Value <= 0:
		t.Errorf("%s: rate is %v", phase, f.Ours.Value)
	case f.Name == "reconciles, sandbox" && f.Ours.Value < 1:
		t.Errorf("%s: %v reconciles for each Sandbox", phase, f.Ours.Value)
	}
}

// startServiceAccounts stands for the controller that makes the ServiceAccount default of the benchmark's namespace.
func startServiceAccounts(t *testing.T, config *rest.Config) <-chan error {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := t.Context(), make(chan error, 1)
	go func() { done <- makeServiceAccount(ctx, clientset) }()
	return done
}

func makeServiceAccount(ctx context.Context, clientset kubernetes.Interface) error {
	watch, err := clientset.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + namespace})
	if err != nil {
		return fmt.Errorf("watching for the namespace: %w", err)
	}
	defer watch.Stop()
	<-watch.ResultChan()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = clientset.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	const name = "test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + strings.TrimPrefix(config.Host, "https://"), CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
