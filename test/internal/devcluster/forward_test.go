package devcluster

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

func testPodPort(t *testing.T, c *Cluster) {
	pods := clientOf(t, c).CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "answering"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var node string
	eventually(t, "the Pod is ready", func() bool {
		got, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		node = got.Spec.NodeName
		return err == nil && podReady(got)
	})
	seen, err := clientOf(t, c).CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ports.Loopback, seen.Annotations[PodPortAnnotation]))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "instead of the Pod")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	if answer := throughForward(t, c, pod.Name); answer != "instead of the Pod" {
		t.Errorf("the Pod's port answers %q", answer)
	}
}

// throughForward asks port 8888 of a Pod as a user does.
func throughForward(t *testing.T, c *Cluster, pod string) string {
	t.Helper()
	forward := c.Kubectl(t.Context(), "port-forward", "pod/"+pod, ":8888")
	output, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	forward.Stderr = &complaints
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = forward.Process.Kill()
		_ = forward.Wait()
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if port == nil {
		t.Fatalf("kubectl port-forward says %q (%v)\n%s", line, err, &complaints)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://127.0.0.1:" + port[1])
	if err != nil {
		t.Fatalf("%v\n%s", err, &complaints)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
