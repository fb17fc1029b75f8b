package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/manifest"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 1, time.UTC)

const everything = `metadata:
  name: box
  namespace: team
spec:
  podTemplate:
    metadata: {}
    spec:
      automountServiceAccountToken: false
      containers:
      - args:
        - sleep
        - "5"
        env:
        - name: A
          value: b=c
        image: example.com/image:v1
        name: main
        resources:
          limits:
            cpu: 500m
            memory: 1Gi
          requests:
            cpu: 500m
            memory: 1Gi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
        volumeMounts:
        - mountPath: /workspace
          name: workspace
      runtimeClassName: gvisor
      securityContext:
        fsGroup: 1000
        runAsNonRoot: true
        runAsUser: 1000
        seccompProfile:
          type: RuntimeDefault
  service: true
  shutdownTime: "2026-03-01T20:00:00Z"
  volumeClaimTemplates:
  - metadata:
      name: workspace
    spec:
      accessModes:
      - ReadWriteOnce
      resources:
        requests:
          storage: 1Gi
status: {}
`

func TestASandboxIsAsItWasAskedFor(t *testing.T) {
	sandbox, err := manifest.Sandbox(manifest.SandboxOptions{
		Namespace: "team", Name: "box", Image: "example.com/image:v1", Command: []string{"sleep", "5"}, Env: []string{"A=b=c"},
		Disks: []string{"workspace=1Gi:/workspace"}, CPU: "500m", Memory: "1Gi", RuntimeClass: "gvisor", RunAsUser: ptr.To[int64](1000),
		Service: true, TTL: 8 * time.Hour,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(sandbox)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everything, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestASandboxHasNoRightsUnlessItIsAskedFor(t *testing.T) {
	sandbox, err := manifest.Sandbox(manifest.SandboxOptions{Name: "box", Image: "a"}, now)
	if err != nil {
		t.Fatal(err)
	}
	pod := sandbox.Spec.PodTemplate.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || *pod.Containers[0].SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("it has rights: %+v", pod)
	}
	if sandbox.Spec.ShutdownTime != nil || sandbox.Spec.Service != nil || pod.RuntimeClassName != nil || pod.SecurityContext.RunAsUser != nil {
		t.Errorf("it has what nobody asked for: %+v", sandbox.Spec)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	for says, o := range map[string]manifest.SandboxOptions{
		`--env="A": must be NAME=VALUE`:                           {Env: []string{"A"}},
		`--env="=b": "" cannot be the name of a variable`:         {Env: []string{"=b"}},
		`--disk="a": must be NAME=SIZE:PATH`:                      {Disks: []string{"a"}},
		`--disk="a=1Gi": must be NAME=SIZE:PATH`:                  {Disks: []string{"a=1Gi"}},
		`--disk="A_B=1Gi:/a": "A_B" cannot be the name of a disk`: {Disks: []string{"A_B=1Gi:/a"}},
		`--disk="a=much:/a": the size "much" must be a quantity`:  {Disks: []string{"a=much:/a"}},
		`--disk="a=-1Gi:/a": the size "-1Gi" must be a quantity`:  {Disks: []string{"a=-1Gi:/a"}},
		`--disk="a=1Gi:a": the path "a" must begin with a slash`:  {Disks: []string{"a=1Gi:a"}},
		`--cpu="many": must be a quantity above 0`:                {CPU: "many"},
		`--memory="0": must be a quantity above 0`:                {Memory: "0"},
		`--ttl=-1s: must be 0 or above`:                           {TTL: -time.Second},
	} {
		if _, err := manifest.Sandbox(o, now); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
}

func TestAClaimIsAsItWasAskedFor(t *testing.T) {
	claim, err := manifest.Claim(manifest.ClaimOptions{
		Namespace: "team", Name: "session", Pool: "agents", Env: []string{"A=b"}, Container: "main", TTL: time.Hour, TTLAfterFinished: ptr.To(time.Minute),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(claim)
	if err != nil {
		t.Fatal(err)
	}
	const want = `metadata:
  name: session
  namespace: team
spec:
  additionalPodMetadata: {}
  env:
  - containerName: main
    name: A
    value: b
  lifecycle:
    shutdownTime: "2026-03-01T13:00:00Z"
    ttlSecondsAfterFinished: 60
  warmPoolRef:
    name: agents
status:
  sandbox: {}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	plain, err := manifest.Claim(manifest.ClaimOptions{Name: "session", Pool: "agents"}, now)
	if err != nil || plain.Spec.Lifecycle != nil || plain.Spec.Env != nil {
		t.Errorf("it has what nobody asked for: %+v, %v", plain, err)
	}
	for _, after := range []time.Duration{-time.Second, 1500 * time.Millisecond, 100 * 365 * 24 * time.Hour} {
		if _, err := manifest.Claim(manifest.ClaimOptions{TTLAfterFinished: &after}, now); err == nil || !strings.Contains(err.Error(), "--ttl-after-finished="+after.String()) {
			t.Errorf("%s: got %v", after, err)
		}
	}
}
