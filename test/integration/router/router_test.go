package router_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// call is a request to a sandbox.
type call struct {
	router          *install.Controller
	namespace, name string
	port            string
	headers         map[string]string
}

// do returns the status and the body; an error where there is no answer.
func (c call) do(t *testing.T) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.router.RouteURL()+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Sandbox-ID", c.name)
	request.Header.Set("X-Sandbox-Namespace", c.namespace)
	request.Header.Set("X-Sandbox-Port", c.port)
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// eventually waits for an answer, as whoever has just made a Pod has to.
func (c call) eventually(t *testing.T, status int, body string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d of %s", status, c.name), func() error {
		got, text, err := c.do(t)
		if err == nil && (got != status || !strings.Contains(text, body)) {
			err = fmt.Errorf("answered %d %s", got, text)
		}
		return err
	})
}

// A6.4, A9.6: the router reaches the Pods of sandboxes and nothing else; a member of a pool from the moment on that it is claimed.
func TestTheRouterFindsSandboxesUnderItsRole(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	port := listen(t, "127.0.0.1:0", says("box"))
	router := start(t)
	to := func(name string) call { return call{router: router, namespace: namespace, name: name, port: port} }

	makePod(t, makeSandbox(t, namespace, "box", ""), "127.0.0.1", nil)
	to("box").eventually(t, http.StatusOK, "box")
	to("nobody").eventually(t, http.StatusBadGateway, "there is no such Sandbox")

	impostor := &corev1.Pod{ObjectMeta: fixture.Named(namespace, "impostor"), Spec: fixture.Sandbox(namespace, "impostor").Spec.PodTemplate.Spec}
	impostor.Labels = map[string]string{sandboxv1beta1.LabelSandboxNameHash: "00000000"}
	fixture.Create(t, user, impostor)
	to("impostor").eventually(t, http.StatusBadGateway, "there is no such Sandbox")

	member := makeSandbox(t, namespace, "member", sandboxv1beta1.WarmPoolKind)
	makePod(t, member, "127.0.0.1", map[string]string{sandboxv1beta1.LabelWarmPool: "00000000"})
	to("member").eventually(t, http.StatusBadGateway, "it waits in a warm pool")
	before := member.DeepCopy()
	member.OwnerReferences = []metav1.OwnerReference{ownedBy(sandboxv1beta1.ClaimKind)}
	if err := controllers.Patch(t.Context(), member, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	// At once, though its Pod still carries the label of the pool.
	if status, body, err := to("member").do(t); err != nil || status != http.StatusOK {
		t.Errorf("a sandbox that was claimed a moment ago: %d %s (%v)", status, body, err)
	}

	pending := makeSandbox(t, namespace, "pending", "")
	to("pending").eventually(t, http.StatusBadGateway, "it has no Pod that is ready")
	pending.Status.PodIPs = []string{"127.0.0.1"}
	pending.Status.Conditions = []metav1.Condition{{Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "DependenciesReady", LastTransitionTime: metav1.Now()}}
	if err := user.Status().Update(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	to("pending").eventually(t, http.StatusOK, "box")
}

// upgrade opens an upgraded connection to a sandbox, which echoes.
func (c call) upgrade(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(c.router.RouteURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	head := strings.Join([]string{
		"GET / HTTP/1.1", "Host: router", "Connection: Upgrade", "Upgrade: websocket", "X-Sandbox-ID: " + c.name,
		"X-Sandbox-Namespace: " + c.namespace, "X-Sandbox-Port: " + c.port, "", "",
	}, "\r\n")
	if _, err := io.WriteString(connection, head); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	if status, _ := testkit.ReadHead(t, reader); status != http.StatusSwitchingProtocols {
		t.Fatalf("answered %d", status)
	}
	return connection, reader
}

// stubborn echoes what is upgraded, answers /ready, and takes for ever over anything else.
func stubborn(text string) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		switch {
		case request.Header.Get("Upgrade") != "":
			connection, both, err := http.NewResponseController(writer).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = connection.Close() }()
			_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_ = both.Flush()
			_, _ = io.Copy(connection, both)
		case request.Header.Get("X-Wait") != "":
			<-request.Context().Done()
		default:
			_, _ = io.WriteString(writer, text)
		}
	}
}

// A Pod that is replaced: what went to the old one ends in an error, what comes then goes to the new one.
func TestAReplacedPodEndsInAnErrorAndNoHang(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	port := listen(t, "127.0.0.1:0", stubborn("old"))
	listen(t, "127.0.0.2:"+port, stubborn("new"))
	router := start(t)
	box := call{router: router, namespace: namespace, name: "box", port: port}
	sandbox := makeSandbox(t, namespace, "box", "")
	pod := makePod(t, sandbox, "127.0.0.1", nil)
	box.eventually(t, http.StatusOK, "old")
	_, upgraded := box.upgrade(t)
	waiting := box
	waiting.headers = map[string]string{"X-Wait": "yes", "X-Sandbox-Timeout": "600"}
	answers := make(chan string, 1)
	go func() {
		status, body, err := waiting.do(t)
		answers <- fmt.Sprint(status, body, err)
	}()
	if err := user.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if answer := <-answers; !strings.HasPrefix(answer, "502") || !strings.Contains(answer, "The backend sandbox") {
		t.Errorf("the request under way: %s", answer)
	}
	if line, err := upgraded.ReadString('\n'); err == nil {
		t.Errorf("the upgraded connection says %q", line)
	}
	box.eventually(t, http.StatusBadGateway, "Could not connect to the backend sandbox: box (it has no Pod that is ready)")
	makePod(t, sandbox, "127.0.0.2", nil)
	box.eventually(t, http.StatusOK, "new")
}

// A router that is killed takes its connections along, at once; the next one knows as much. One that is asked to stop ends in order.
func TestARouterThatRestartsLeavesNobodyHanging(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	port := listen(t, "127.0.0.1:0", stubborn("box"))
	first := start(t)
	box := call{router: first, namespace: namespace, name: "box", port: port}
	makePod(t, makeSandbox(t, namespace, "box", ""), "127.0.0.1", nil)
	box.eventually(t, http.StatusOK, "box")
	_, upgraded := box.upgrade(t)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if line, err := upgraded.ReadString('\n'); err == nil {
		t.Errorf("the upgraded connection says %q", line)
	}
	if status, _, err := box.do(t); err == nil {
		t.Errorf("a router that is dead answers %d", status)
	}
	box.router = start(t)
	// It is ready, so it knows.
	if status, body, err := box.do(t); err != nil || status != http.StatusOK {
		t.Errorf("after the restart: %d %s (%v)", status, body, err)
	}
	if err := box.router.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// Rights are those of Kubernetes, under the rendered role of the router, for each sandbox.
func TestWhoMaySpeakToASandbox(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	port := listen(t, "127.0.0.1:0", says("box"))
	router := start(t, "--authz-mode=subject-access-review")
	makePod(t, makeSandbox(t, namespace, "box", ""), "127.0.0.1", nil)
	other := makeSandbox(t, namespace, "other", "")
	makePod(t, other, "127.0.0.2", nil)
	ann := &corev1.ServiceAccount{ObjectMeta: fixture.Named(namespace, "ann")}
	role := &rbacv1.Role{ObjectMeta: fixture.Named(namespace, "speak"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{sandboxv1beta1.GroupName}, Resources: []string{"sandboxes/proxy"}, ResourceNames: []string{"box"}, Verbs: []string{"create"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: fixture.Named(namespace, "speak"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "speak"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "ann"}},
	}
	for _, object := range []client.Object{ann, role, binding} {
		fixture.Create(t, user, object)
	}
	token := &authenticationv1.TokenRequest{}
	if err := user.SubResource("token").Create(t.Context(), ann, token); err != nil {
		t.Fatal(err)
	}
	as := func(name, bearer string, headers ...string) call {
		c := call{router: router, namespace: namespace, name: name, port: port, headers: map[string]string{}}
		if bearer != "" {
			c.headers["Authorization"] = "Bearer " + bearer
		}
		for i := 0; i < len(headers); i += 2 {
			c.headers[headers[i]] = headers[i+1]
		}
		return c
	}
	as("box", token.Status.Token).eventually(t, http.StatusOK, "box")
	as("other", token.Status.Token).eventually(t, http.StatusForbidden, "You may not create sandboxes/proxy of Sandbox other in namespace "+namespace+".")
	as("box", "").eventually(t, http.StatusUnauthorized, "A bearer token is required.")
	as("box", "made-up").eventually(t, http.StatusUnauthorized, "The bearer token is not valid.")
	// What counts is where the request leads to: with the address of the other to the one that is named, with the UID of the other to that.
	as("box", token.Status.Token, "X-Sandbox-Pod-IP", "127.0.0.2").eventually(t, http.StatusOK, "box")
	as("box", token.Status.Token, "X-Sandbox-UID", string(other.UID)).eventually(t, http.StatusForbidden, "Sandbox other")
}
