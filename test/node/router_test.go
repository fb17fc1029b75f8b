//go:build node

package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	routerDeployment = "sandbox-router-deployment"
	routerService    = "sandbox-router-svc"
	routerReplicas   = 2
	// patience is how long whoever asks a router waits for an answer. None may take longer, whatever happens.
	patience = 15 * time.Second
)

// installedRouter is the router as it ships, seen from the network of the node.
type installedRouter struct {
	url  string
	http *http.Client
}

// withRouter installs the router as its document says, for a test.
func withRouter(t *testing.T) installedRouter {
	t.Helper()
	asset := filepath.Join(root, "release", "testdata", "sandbox-router.yaml")
	t.Cleanup(func() { mustKubectl(t, "delete", "--ignore-not-found", "-f", asset) })
	mustKubectl(t, "apply", "-f", asset)
	// As its document says, where the API server has a port of its own.
	mustKubectl(t, "-n", install.Namespace, "patch", "networkpolicy", "sandbox-router", "--type=json",
		"--patch="+`[{"op": "add", "path": "/spec/egress/-", "value": {"ports": [{"protocol": "TCP", "port": `+apiPort(t)+`}]}}]`)
	fixture.Must(t, user, &appsv1.Deployment{ObjectMeta: fixture.Named(install.Namespace, routerDeployment)}, available(routerReplicas))
	service := fixture.Must(t, user, &corev1.Service{ObjectMeta: fixture.Named(install.Namespace, routerService)}, await.Exists[*corev1.Service]())
	address := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(service.Spec.Ports[0].Port)))
	transport := &http.Transport{DialContext: config.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return installedRouter{"http://" + address, &http.Client{Transport: transport, Timeout: patience}}
}

// pods are those of the router that are not about to go.
func (installedRouter) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	all := &corev1.PodList{}
	if err := user.List(t.Context(), all, client.InNamespace(install.Namespace), client.MatchingLabels{"app": "sandbox-router"}); err != nil {
		t.Fatal(err)
	}
	var staying []corev1.Pod
	for _, pod := range all.Items {
		if pod.DeletionTimestamp.IsZero() {
			staying = append(staying, pod)
		}
	}
	return staying
}

// sdk returns a client whose sandboxes are reached through the router.
func (r installedRouter) sdk(t *testing.T, namespace string) *sandbox.Client {
	t.Helper()
	return newSDK(t, namespace, func(o *sandbox.Options) {
		o.Connectivity, o.APIURL, o.HTTPTransport = sandbox.ConnectivityDirect, r.url, r.http.Transport
	})
}

// headers name the probe in a sandbox.
func headers(namespace, name string) http.Header {
	return http.Header{"X-Sandbox-Id": {name}, "X-Sandbox-Namespace": {namespace}, "X-Sandbox-Port": {strings.TrimPrefix(probeAddress, ":")}}
}

// ask sends a request to a sandbox and returns what comes; an error where nothing did.
func (r installedRouter) ask(ctx context.Context, method, namespace, name, path string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	request.Header = headers(namespace, name)
	response, err := r.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// line is a WebSocket to a sandbox, which echoes.
type line struct {
	*websocket.Conn
}

func (r installedRouter) line(t *testing.T, namespace, name string) line {
	t.Helper()
	dialer := websocket.Dialer{NetDialContext: config.Dial, HandshakeTimeout: patience}
	connection, response, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/echo", headers(namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	t.Cleanup(func() { _ = connection.Close() })
	return line{connection}
}

// says sends a message and wants it back.
func (l line) says(message string) error {
	if err := l.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if err := l.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		return err
	}
	_, got, err := l.ReadMessage()
	if err == nil && string(got) != message {
		err = fmt.Errorf("sent %q, got %q", message, got)
	}
	return err
}

// ended waits until the line is cut, and returns how long that took.
func (l line) ended(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	if err := l.SetReadDeadline(began.Add(within)); err != nil {
		t.Fatal(err)
	}
	_, _, err := l.ReadMessage()
	took := time.Since(began)
	if err == nil || took >= within {
		t.Errorf("nobody ended it within %s: %v", within, err)
	}
	return took
}

func TestTheRouterMovesLargeBodiesInConstantMemory(t *testing.T) {
	const small, large = 200 << 20, 1 << 30
	namespace := newNamespace(t)
	router := withRouter(t)
	pool := filled(t, namespace, "files", 1, daemonPod)
	sb, err := router.sdk(t, namespace).CreateSandbox(t.Context(), pool.Name, "")
	if err != nil {
		t.Fatal(err)
	}
	daemon := podIn(t, namespace, sb.PodName())
	t.Logf("%-10s %10s %10s %16s %16s", "", "up", "down", "router's peak", "daemon's peak")
	var peaks [][2]int64
	for _, size := range []int64{small, large} {
		up, down := thereAndBack(t, sb, size)
		var carrying int64
		for _, pod := range router.pods(t) {
			carrying = max(carrying, peakOf(t, pod))
		}
		peak := [2]int64{carrying, peakOf(t, daemon)}
		t.Logf("%6d MiB %10s %10s %12d KiB %12d KiB", size>>20, up.Round(time.Millisecond), down.Round(time.Millisecond), peak[0]>>10, peak[1]>>10)
		peaks = append(peaks, peak)
	}
	const most = 16 << 20
	for i, name := range []string{"the router", "the daemon"} {
		if grown := peaks[1][i] - peaks[0][i]; grown > most {
			t.Errorf("%s took %d bytes more for %d bytes than for %d", name, grown, int64(large), int64(small))
		}
	}
}

// thereAndBack writes a file into a sandbox and reads it again, and returns how long each took.
func thereAndBack(t *testing.T, sb *sandbox.Sandbox, size int64) (up, down time.Duration) {
	t.Helper()
	sent, received := sha256.New(), sha256.New()
	began := time.Now()
	if err := sb.Files().WriteFrom(t.Context(), "large", io.TeeReader(noise(size), sent)); err != nil {
		t.Fatal(err)
	}
	up = time.Since(began)
	content, err := sb.Files().Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	if read, err := io.Copy(received, content); read != size || err != nil {
		t.Errorf("read %d bytes of %d, %v", read, size, err)
	}
	if !bytes.Equal(sent.Sum(nil), received.Sum(nil)) {
		t.Errorf("%x was sent and %x came back", sent.Sum(nil), received.Sum(nil))
	}
	return up, time.Since(began) - up
}

// A terminal and a WebSocket go on while the replicas of the router that carry them are replaced, for as long as those may take to end.
func TestConnectionsOutliveARolloutOfTheRouter(t *testing.T) {
	// The pause before the signal to stop, and --shutdown-timeout.
	const drain = 35 * time.Second
	namespace := newNamespace(t)
	router := withRouter(t)
	sb, err := router.sdk(t, namespace).CreateSandbox(t.Context(), filled(t, namespace, "box", 1, daemonAround(t, "/probe", "serve", probeAddress)).Name, "")
	if err != nil {
		t.Fatal(err)
	}
	terminal := openTerminal(t, sb)
	terminal.says(t, "before")
	closing, staying := router.line(t, namespace, sb.SandboxName()), router.line(t, namespace, sb.SandboxName())
	before := router.pods(t)

	mustKubectl(t, "-n", install.Namespace, "rollout", "restart", "deployment", routerDeployment)
	mustKubectl(t, "-n", install.Namespace, "rollout", "status", "deployment", routerDeployment, "--timeout=2m")
	began := time.Now()
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	exchanges := 0
	for ; time.Since(began) < drain/2; <-pace.C {
		exchanges++
		message := fmt.Sprintf("during %d", exchanges)
		terminal.says(t, message)
		for _, l := range []line{closing, staying} {
			if err := l.says(message); err != nil {
				t.Fatalf("%s after the rollout: %v", time.Since(began), err)
			}
		}
		if status, body, err := router.ask(t.Context(), http.MethodGet, namespace, sb.SandboxName(), "/"); status != http.StatusOK {
			t.Fatalf("%s after the rollout: a new request: %d %s %v", time.Since(began), status, body, err)
		}
	}
	going := draining(t, before)
	if going == 0 {
		t.Error("no old router drained meanwhile")
	}
	terminal.ends(t)
	_ = closing.Close()
	took := staying.ended(t, drain)
	t.Logf("%d exchanges while %d of %d routers drained; what stayed open was cut %s later", exchanges, going, len(before), took.Round(time.Second))
	for i := range before {
		fixture.MustBeGone(t, user, &before[i])
	}
}

// draining counts the Pods that are about to go.
func draining(t *testing.T, pods []corev1.Pod) (count int) {
	t.Helper()
	for i := range pods {
		seen := &corev1.Pod{}
		if user.Get(t.Context(), client.ObjectKeyFromObject(&pods[i]), seen) == nil && !seen.DeletionTimestamp.IsZero() {
			count++
		}
	}
	return count
}

// A Pod that is replaced and a router that is killed end what is under way in an error, and a new try finds the way again.
func TestNobodyIsLeftHangingByTheRouter(t *testing.T) {
	namespace := newNamespace(t)
	router := withRouter(t)
	box := box(namespace, "box", running("serve", probeAddress))
	fixture.Create(t, user, box)
	fixture.Must(t, user, box, await.Ready())
	router.recovers(t, namespace, box.Name)
	for name, lose := range map[string]func(){
		"its Pod is deleted": func() { mustKubectl(t, "-n", namespace, "delete", "pod", box.Name, "--wait=false") },
		"its Pod is replaced": func() {
			pod := podIn(t, namespace, box.Name)
			mustKubectl(t, "-n", namespace, "delete", "pod", box.Name, "--grace-period=0", "--force")
			fixture.Must(t, user, &pod, another(pod.DeepCopy()))
		},
		"the sandbox is suspended": func() {
			fixture.MustEdit(t, user, box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended })
			fixture.Must(t, user, box, await.Suspended())
			fixture.MustEdit(t, user, box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
		},
		"the routers are killed": func() {
			mustKubectl(t, "-n", install.Namespace, "delete", "pod", "-l", "app=sandbox-router", "--grace-period=0", "--force")
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := router.line(t, namespace, box.Name)
			answers := router.underWay(t, namespace, box.Name)
			// It goes the way that the request went just before.
			if err := open.says("before"); err != nil {
				t.Fatal(err)
			}
			lose()
			open.ended(t, patience)
			answer := <-answers
			t.Logf("the request under way: %s", answer)
			if !strings.HasPrefix(answer, "502 ") && !strings.HasPrefix(answer, "0 ") || strings.Contains(answer, "eadline exceeded") {
				t.Error("that is no clear error in good time")
			}
			router.recovers(t, namespace, box.Name)
			fixture.Must(t, user, &appsv1.Deployment{ObjectMeta: fixture.Named(install.Namespace, routerDeployment)}, available(routerReplicas))
		})
	}
}

// underWay sends a request that the sandbox never answers and nobody may send twice, and returns, once it was sent, where to learn of its end.
func (r installedRouter) underWay(t *testing.T, namespace, name string) <-chan string {
	t.Helper()
	sent, answers := make(chan struct{}, 1), make(chan string, 1)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		select {
		case sent <- struct{}{}:
		default: // a second try of the library's
		}
	}})
	go func() {
		status, body, err := r.ask(ctx, http.MethodPost, namespace, name, "/hold")
		answers <- fmt.Sprint(status, " ", strings.TrimSpace(body), " ", err)
	}()
	<-sent
	return answers
}

// recovers asks until the sandbox answers; until then the router has to say what is wrong.
func (r installedRouter) recovers(t *testing.T, namespace, name string) {
	t.Helper()
	eventually(t, "a new try finds the way", func() error {
		status, body, err := r.ask(t.Context(), http.MethodGet, namespace, name, "/")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, body)
			if !isDetail(body) {
				t.Errorf("that is no error of the router's: %v", err)
			}
		}
		return err
	})
}

// isDetail says whether a body is an error of the router.
func isDetail(body string) bool {
	var told struct {
		Detail string `json:"detail"`
	}
	return json.Unmarshal([]byte(body), &told) == nil && told.Detail != ""
}
