package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	createPod   = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/b/pods","verb":"create","user":{"username":"us","groups":["g"]},"objectRef":{"resource":"pods","namespace":"b","name":"p","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201}}` + "\n"
	patchStatus = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"us"},"objectRef":{"resource":"sandboxes","apiGroup":"agents.x-k8s.io","subresource":"status"},"responseStatus":{"code":409}}` + "\n"
	bind        = `{"stage":"ResponseComplete","verb":"create","user":{"username":"system:kube-scheduler"},"objectRef":{"resource":"pods","subresource":"binding"},"responseStatus":{"code":201}}` + "\n"
	event       = `{"stage":"ResponseComplete","verb":"create","user":{"username":"us"},"objectRef":{"resource":"events"},"responseStatus":{"code":201}}` + "\n"
	get         = `{"stage":"ResponseComplete","verb":"get","user":{"username":"us"},"objectRef":{"resource":"pods"},"responseStatus":{"code":404}}` + "\n"
)

func counts() Counts {
	return Counts{
		{User: "us", Verb: "create", Resource: "pods", Namespace: "b", Name: "p", Code: 201}: 2,
		{User: "us", Verb: "patch", Resource: "sandboxes/status", Code: 409}:                 1,
		{User: "us", Verb: "create", Resource: "events", Code: 201}:                          1,
		{User: "us", Verb: "get", Resource: "pods", Code: 404}:                               1,
		{User: "system:kube-scheduler", Verb: "create", Resource: "pods/binding", Code: 201}: 1,
	}
}

func TestRead(t *testing.T) {
	whole := createPod + patchStatus + bind + event + get + createPod
	for _, tt := range []struct {
		name   string
		log    string
		want   Counts
		length int
	}{
		{"requests are counted by user, verb, object and code", whole, counts(), len(whole)},
		{"a line that is still being written waits", bind + createPod[:40], Counts{
			{User: "system:kube-scheduler", Verb: "create", Resource: "pods/binding", Code: 201}: 1,
		}, len(bind)},
		{"a request that is not answered yet does not count", strings.Replace(bind, "ResponseComplete", "RequestReceived", 1), Counts{}, len(bind) - 1},
		{"a request for no object does not count", `{"stage":"ResponseComplete","verb":"get"}` + "\n", Counts{}, 42},
		{"a request that was never answered has no code", `{"stage":"Panic","verb":"get","objectRef":{"resource":"pods"}}` + "\n",
			Counts{{Verb: "get", Resource: "pods"}: 1}, 63},
		{"an empty log", "", Counts{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, length, err := Read(strings.NewReader(tt.log))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if length != int64(tt.length) {
				t.Errorf("read %d bytes, want %d", length, tt.length)
			}
		})
	}
}

func TestReadNamesTheLineThatIsNone(t *testing.T) {
	_, _, err := Read(strings.NewReader(bind + "no JSON\n"))
	if err == nil || !strings.Contains(err.Error(), `"no JSON"`) {
		t.Errorf("err = %v, want one with the line", err)
	}
}

func TestSums(t *testing.T) {
	ours := func(k Kind) bool { return k.User == "us" }
	if got := counts().Sum(ours, Kind.IsWrite); got != 4 {
		t.Errorf("writes of ours = %d, want 4", got)
	}
	if got := counts().Sum(Kind.Refused); got != 2 {
		t.Errorf("refused = %d, want 2", got)
	}
	if got := counts().Sum(Kind.IsEvent); got != 1 {
		t.Errorf("Events = %d, want 1", got)
	}
	byVerb := counts().By(func(k Kind) string { return k.Verb }, ours)
	if diff := cmp.Diff(map[string]int{"create": 3, "patch": 1, "get": 1}, byVerb); diff != "" {
		t.Errorf("by verb (-want +got):\n%s", diff)
	}
}

func TestLogGoesOnWhereItStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	next := func(log *Log) int {
		t.Helper()
		got, err := log.Next()
		if err != nil {
			t.Fatal(err)
		}
		return got.Sum()
	}
	appendTo(bind + bind)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(createPod + event[:20])
	if got := next(log); got != 1 {
		t.Errorf("%d requests since Open, want 1", got)
	}
	appendTo(event[20:])
	if got := next(log); got != 1 {
		t.Errorf("%d requests since the last Next, want 1", got)
	}
	if got := next(log); got != 0 {
		t.Errorf("%d requests with nothing new, want 0", got)
	}
}

func TestPolicyIsYAMLAndNamesTheNamespaces(t *testing.T) {
	var policy struct {
		Kind  string
		Rules []struct {
			Level      string
			Namespaces []string
		}
	}
	if err := yaml.Unmarshal(Policy("place", "other"), &policy); err != nil {
		t.Fatal(err)
	}
	if policy.Kind != "Policy" || len(policy.Rules) != 3 || !slices.Equal(policy.Rules[1].Namespaces, []string{"place", "other"}) {
		t.Errorf("policy is %+v", policy)
	}
}
