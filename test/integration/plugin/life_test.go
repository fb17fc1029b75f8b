package plugin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// lines are those of an output.
func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func TestALifeByThePlugin(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	namespace := testkit.Namespace(t, user)
	box := &sandboxv1beta1.Sandbox{ObjectMeta: fixture.Named(namespace, "box")}

	made := plugin(t, namespace, "", "create", "box", "--image=a", "--ttl=1h")
	made.want(t, 0)
	if diff := cmp.Diff([]string{"sandbox.agents.x-k8s.io/box created", "sandbox/box is ready"}, lines(made.out)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	plugin(t, namespace, "", "create", "box", "--image=a").want(t, 1, `creating sandbox/box in namespace "`+namespace+`"`, "already exists")
	plugin(t, namespace, "", "get", "box", "-o", "wide").want(t, 0, "NAME", "box", "True", "DependenciesReady", "in 5", "node-1", "Running")
	plugin(t, namespace, "", "suspend", "box").want(t, 0, "sandbox.agents.x-k8s.io/box suspended")
	fixture.Must(t, user, box, await.Suspended())
	plugin(t, namespace, "", "exec", "box", "--", "ls").want(t, 1, "it has no Pod: it is suspended; `kubectl sandbox resume box -n "+namespace+"` starts it")
	plugin(t, namespace, "", "doctor", "box").want(t, 0, "sandbox/box: note", "It is suspended")
	plugin(t, namespace, "", "resume", "box", "-q").want(t, 0, "sandbox.agents.x-k8s.io/box resumed")
	fixture.Must(t, user, box, await.Ready())
	plugin(t, namespace, "", "doctor", "box").want(t, 0, "sandbox/box: ok", "It is ready")

	plugin(t, namespace, "", "extend", "box", "--for=1m").want(t, 1, "--force lets it expire sooner")
	plugin(t, namespace, "", "extend", "box", "--for=2h").want(t, 0, "sandbox.agents.x-k8s.io/box extended")
	live := fixture.Must(t, user, box, await.Exists[*sandboxv1beta1.Sandbox]())
	if left := time.Until(live.Spec.ShutdownTime.Time); left < 119*time.Minute || left > 2*time.Hour {
		t.Errorf("it has %s left", left)
	}
	plugin(t, namespace, "", "extend", "box", "--never").want(t, 0)
	if live = fixture.Must(t, user, box, await.Exists[*sandboxv1beta1.Sandbox]()); live.Spec.ShutdownTime != nil {
		t.Errorf("it expires at %s", live.Spec.ShutdownTime)
	}
	plugin(t, namespace, "", "rm", "box").want(t, 0, `sandbox.agents.x-k8s.io/box deleted`)
	fixture.MustBeGone(t, user, box)
	plugin(t, namespace, "", "get", "box").want(t, 1, "has neither a Sandbox nor a claim named")
}

func TestAClaimByThePlugin(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	namespace := testkit.Namespace(t, user)
	template := fixture.Template(namespace, "agents")
	pool := fixture.Pool(template, "agents", 2)
	fixture.Create(t, user, template)
	fixture.Create(t, user, pool)
	fixture.Must(t, user, pool, await.Members(2))

	plugin(t, namespace, "", "claim", "session", "--pool=agents").want(t, 0, "sandboxclaim.extensions.agents.x-k8s.io/session created", "claim/session is ready")
	claim := fixture.Must(t, user, &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, "session")}, await.Served())
	sandbox := claim.Status.Sandbox.Name
	fixture.Must(t, user, pool, await.Members(2))
	plugin(t, namespace, "", "ls", "claims").want(t, 0, "session", sandbox, "warm")
	pools := plugin(t, namespace, "", "pools", "--no-headers")
	pools.want(t, 0)
	if diff := cmp.Diff([]string{"agents", "2", "2", "2", "1", "0", "agents"}, strings.Fields(pools.out)[:7]); diff != "" {
		t.Errorf("name, size, ready, free, used, waiting, template (-want +got):\n%s", diff)
	}
	// A name of the claim means its Sandbox, and the other way round only if it is said.
	plugin(t, namespace, "", "suspend", "session").want(t, 0, "sandbox.agents.x-k8s.io/"+sandbox+" suspended")
	plugin(t, namespace, "", "resume", "claim/session").want(t, 0)
	plugin(t, namespace, "", "rm", sandbox).want(t, 1, "belongs to claim/session: `kubectl sandbox rm claim/session -n "+namespace+"`")
	plugin(t, namespace, "", "extend", sandbox, "--for=1h").want(t, 1, "belongs to claim/session")
	plugin(t, namespace, "", "extend", "claim/session", "--for=1h", "--force").want(t, 0, "sandboxclaim.extensions.agents.x-k8s.io/session extended")
	plugin(t, namespace, "", "__complete", "exec", "claim/").want(t, 0, "claim/session")
	plugin(t, namespace, "", "__complete", "claim", "x", "--pool", "").want(t, 0, "agents")

	plugin(t, namespace, "", "create", "box", "--image=a", "--wait=false").want(t, 0)
	removed := plugin(t, namespace, "", "rm", "--all")
	removed.want(t, 0)
	if diff := cmp.Diff([]string{`sandboxclaim.extensions.agents.x-k8s.io/session deleted`, `sandbox.agents.x-k8s.io/box deleted`}, lines(removed.out)); diff != "" {
		t.Errorf("what belongs to others, or is a pool, is not to be deleted (-want +got):\n%s", diff)
	}
	fixture.Must(t, user, pool, await.Exists[*extensionsv1beta1.SandboxWarmPool]())
}

func TestAWaitEndsWithAReason(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	// Nobody stands for a kubelet here: Pods stay as they are made.
	cases := map[string]struct {
		args []string
		code int
		says []string
	}{
		"a Pod that finds no node in time": {
			[]string{"create", "box", "--image=a", "--timeout=10s"}, 3, []string{"sandbox/box: Waiting", "waiting for sandbox/box to be ready: timed out after 10s: Waiting for ", "`kubectl sandbox doctor sandbox/box"},
		},
		"a claim on a pool that there is not": {
			[]string{"claim", "lost", "--pool=nowhere", "--timeout=10s"}, 3, []string{`timed out after 10s: Its pool "nowhere" does not exist`},
		},
		"a Pod that can never be": {
			[]string{"create", "bad", "--image=a", "--env=A=1", "--disk=d=1Gi:/a", "--disk=d=1Gi:/b"}, 1, []string{"waiting for sandbox/bad to be ready: "},
		},
		"a wait that is not wanted":          {[]string{"create", "later", "--image=a", "--wait=false"}, 0, []string{"later created"}},
		"nothing, which is only shown":       {[]string{"create", "never", "--image=a", "--dry-run=client", "-o", "name"}, 0, []string{"sandbox.agents.x-k8s.io/never"}},
		"nothing, which the server checked":  {[]string{"create", "never", "--image=a", "--dry-run=server"}, 0, []string{"never created (server dry run)"}},
		"a timeout of nothing":               {[]string{"create", "x", "--image=a", "--timeout=0"}, 2, []string{"--timeout=0s: must be above 0"}},
		"a flag that there is not":           {[]string{"create", "x", "--imago=a"}, 2, []string{"unknown flag: --imago; see `kubectl sandbox create --help`"}},
		"a verb that there is not":           {[]string{"destroy"}, 2, []string{`there is no command "destroy"`}},
		"a name that none can have":          {[]string{"get", "A_B"}, 2, []string{`no object can have the name "A_B"`}},
		"a type that there is not":           {[]string{"get", "pod/a"}, 2, []string{`there is no type "pod"`}},
		"a form that there is not":           {[]string{"ls", "-o", "xml"}, 2, []string{`"xml"`}},
		"a claim on no pool":                 {[]string{"claim", "x"}, 2, []string{"a claim needs a --pool"}},
		"a manifest and an image":            {[]string{"create", "-f", "-", "--image=a"}, 2, []string{"--image: the manifests of -f say themselves"}},
		"no manifest":                        {[]string{"create", "-f", "-"}, 1, []string{"there is none in"}},
		"a port that there is not":           {[]string{"port-forward", "x", "99999"}, 2, []string{`"99999": no [LOCAL:]PORT`}},
		"what could not be said is not done": {[]string{"create", "never", "--image=a", "-o", "wide"}, 2, []string{`"wide"`}},
		"usage that nobody measures":         {[]string{"top"}, 1, []string{"the cluster has no API metrics.k8s.io", "install metrics-server"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { plugin(t, namespace, "", c.args...).want(t, c.code, c.says...) })
	}
	never := &sandboxv1beta1.Sandbox{ObjectMeta: fixture.Named(namespace, "never")}
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(never), never); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a dry run made it: %v", err)
	}
}

func TestManifestsByThePlugin(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	shown := plugin(t, namespace, "", "create", "box", "--image=a", "--dry-run=client", "-o", "yaml")
	shown.want(t, 0, "kind: Sandbox")
	plugin(t, namespace, shown.out, "create", "-f", "-", "--wait=false").want(t, 0, "box created")
	listed := plugin(t, namespace, "", "ls", "-o", "json")
	listed.want(t, 0, `"kind": "SandboxList"`, `"kind": "Sandbox"`, `"apiVersion": "agents.x-k8s.io/v1beta1"`)
	plugin(t, namespace, "", "ls", "-o", "name").want(t, 0, "sandbox.agents.x-k8s.io/box")
	plugin(t, namespace, strings.Replace(shown.out, "image:", "imago:", 1), "create", "-f", "-").want(t, 1, "imago")
	plugin(t, namespace, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "create", "-f", "-").want(t, 1, "use `kubectl create -f`")
	plugin(t, "default", shown.out, "create", "-f", "-").want(t, 2, "--namespace says \"default\"")
}
