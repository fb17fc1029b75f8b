package plugin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// diagnosis is a finding as programs read it.
type diagnosis struct {
	Object, Part, Severity, Cause, What, Why string
	Next                                     []string
}

// diagnose returns what doctor says, and the exit code.
func diagnose(t *testing.T, namespace string, args ...string) ([]diagnosis, int) {
	t.Helper()
	told := plugin(t, namespace, "", append([]string{"doctor", "-o", "json"}, args...)...)
	var report struct{ Findings []diagnosis }
	if err := json.Unmarshal([]byte(told.out), &report); err != nil {
		t.Fatalf("%v: %s%s", err, told.out, told.errOut)
	}
	return report.Findings, told.code
}

// eventually waits until doctor says something of a cause about an object.
func eventually(t *testing.T, namespace, severity, cause string, args ...string) diagnosis {
	t.Helper()
	var found diagnosis
	testkit.Eventually(t, "doctor says "+cause, func() error {
		said, code := diagnose(t, namespace, args...)
		i := slices.IndexFunc(said, func(d diagnosis) bool { return d.Cause == cause && d.Severity == severity })
		if i < 0 {
			return fmt.Errorf("it says %+v", said)
		}
		if want := map[bool]int{true: 1, false: 0}[severity == "stuck"]; code != want {
			return fmt.Errorf("exit code %d, want %d", code, want)
		}
		found = said[i]
		return nil
	})
	return found
}

func TestDoctorKnowsWhatTheAPIServerRefuses(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "restricted-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	full := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "full-"}}
	fixture.Create(t, user, restricted)
	fixture.Create(t, user, full)
	quota := &corev1.ResourceQuota{ObjectMeta: fixture.Named(full.Name, "no-pods")}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	fixture.Create(t, user, quota)
	// No controller counts here what there is.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	if err := user.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	taken := &corev1.Pod{ObjectMeta: fixture.Named(namespace, "taken")}
	taken.Spec.Containers = fixture.Sandbox(namespace, "taken").Spec.PodTemplate.Spec.Containers
	fixture.Create(t, user, taken)
	cases := map[string]struct {
		sandbox *sandboxv1beta1.Sandbox
		cause   string
		why     string
	}{
		"Pod Security":                     {fixture.Sandbox(restricted.Name, "box"), "PodSecurity", "restricted"},
		"a quota":                          {fixture.Sandbox(full.Name, "box"), "QuotaExceeded", "no-pods"},
		"a RuntimeClass that there is not": {fixture.Sandbox(namespace, "isolated", func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.RuntimeClassName = ptr.To("gone") }), "RuntimeClassMissing", "gone"},
		"a Pod that is invalid": {fixture.Sandbox(namespace, "invalid", func(s *sandboxv1beta1.Sandbox) {
			s.Spec.PodTemplate.Spec.Containers[0].Name = "Not A Name"
		}), "InvalidSpec", "Not A Name"},
		"a Pod of somebody else": {fixture.Sandbox(namespace, "taken"), "NotOwned", "taken"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fixture.Create(t, user, c.sandbox)
			said := eventually(t, c.sandbox.Namespace, "stuck", c.cause, "sandbox/"+c.sandbox.Name)
			if !strings.Contains(said.Why, c.why) || len(said.Next) == 0 {
				t.Errorf("it says %+v, want evidence with %q, and a way out", said, c.why)
			}
		})
	}
}

func TestDoctorFollowsAClaimToItsCause(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	template := fixture.Template(namespace, "agents")
	template.Spec.PodTemplate.Spec.RuntimeClassName = ptr.To("gone")
	pool := fixture.Pool(template, "agents", 1)
	fixture.Create(t, user, pool)
	if said := eventually(t, namespace, "stuck", "TemplateMissing", "pool/agents"); said.Object != "pool/agents" {
		t.Errorf("it says %+v", said)
	}
	fixture.Create(t, user, fixture.Claim(pool, "early"))
	eventually(t, namespace, "stuck", "TemplateMissing", "claim/early")
	fixture.Create(t, user, template)
	if said := eventually(t, namespace, "stuck", "RuntimeClassMissing", "claim/early"); said.Object != "claim/early" || !strings.HasPrefix(said.Part, "sandbox/") {
		t.Errorf("it says %+v", said)
	}
	eventually(t, namespace, "stuck", "PoolHeld", "pool/agents")
	// Without a name, all of it, and each thing once.
	said, code := diagnose(t, namespace)
	if code != 1 || !slices.ContainsFunc(said, func(d diagnosis) bool { return d.Object == "claim/early" }) ||
		slices.ContainsFunc(said, func(d diagnosis) bool { return strings.HasPrefix(d.Object, "sandbox/") }) {
		t.Errorf("exit code %d: it says %+v", code, said)
	}
}

func TestDoctorSaysWhatItMayNotRead(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	role := &rbacv1.Role{ObjectMeta: fixture.Named(namespace, "boxes"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{sandboxv1beta1.GroupName}, Resources: []string{"sandboxes"}, Verbs: []string{"get", "list", "watch", "create"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: fixture.Named(namespace, "boxes"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "boxes"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
	}
	fixture.Create(t, user, role)
	fixture.Create(t, user, binding)
	box := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, box)
	fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, "box")}, await.Exists[*corev1.Pod]())

	said, _ := diagnose(t, namespace, "box", "--as=jane")
	if !slices.ContainsFunc(said, func(d diagnosis) bool {
		return d.Severity == "unknown" && strings.Contains(d.Why, `cannot list resource "pods"`)
	}) {
		t.Errorf("it does not say that it may not read Pods: %+v", said)
	}
	// Without a name it looks at what may be read, and says what may not.
	said, _ = diagnose(t, namespace, "--as=jane")
	for _, want := range []string{"template/*", "pool/*", "claim/*", "sandbox/box"} {
		if !slices.ContainsFunc(said, func(d diagnosis) bool { return d.Object == want }) {
			t.Errorf("it says nothing of %s: %+v", want, said)
		}
	}
	// Waiting does with less, too.
	plugin(t, namespace, "", "create", "other", "--image=a", "--timeout=10s", "--as=jane").want(t, 3, "sandbox/other: Waiting", "timed out after 10s")
	plugin(t, namespace, "", "rm", "box", "--as=jane").want(t, 1, "deleting sandbox/box", "cannot delete resource")
}

// block finds the commands of a document that name a test.
var block = regexp.MustCompile("(?s)<!-- test: ([^\n]*) -->\n```sh\n(.*?)```")

// The commands of docs/kubectl-plugin.md are run as they stand, one after the other, by kubectl and the plugin that make builds.
func TestTheCommandsOfThePluginsDocument(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	namespace := testkit.Namespace(t, user)
	template := fixture.Template(namespace, "my-agents")
	pool := fixture.Pool(template, "my-agents", 1)
	for _, object := range []client.Object{template, pool} {
		fixture.Create(t, user, object)
	}
	fixture.Must(t, user, pool, await.Members(1))
	text, err := os.ReadFile(filepath.Join(root, "docs", "kubectl-plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	// make builds from the repository into the directory of the test.
	script := fmt.Sprintf("make() { command make --no-print-directory -C %q \"$@\" BIN=\"$PWD/bin\"; }\nmkdir bin\n", root)
	blocks := 0
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(found[1], t.Name()) {
			script += found[2]
			blocks++
		}
	}
	if blocks < 5 {
		t.Fatalf("only %d blocks of commands were found", blocks)
	}
	output := shell(t, namespace, script)
	for _, want := range []string{"my-sandbox is ready", "claim/my-session is ready", `"findings": []`} {
		if !strings.Contains(output, want) {
			t.Errorf("the commands do not say %q:\n%s", want, output)
		}
	}
}

// shell runs a script as a user does whose current namespace is this, in a directory of its own.
func shell(t *testing.T, namespace, script string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, apiServer.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	assets := os.Getenv(testkit.AssetsVariable)
	if assets == "" {
		assets = filepath.Join(root, "bin", "k8s")
	}
	command := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", "kubectl config set-context --current --namespace="+namespace+"\n"+script)
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+config, "PATH="+assets+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	return string(output)
}
