package preflight

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func someFindings() []Finding {
	return []Finding{
		{Check: "dns", Result: OK, Object: "Service kube-system/kube-dns", Meaning: "it is there"},
		Finding{Check: "nodes", Result: Blocked, Object: "Nodes", Meaning: "none <of them>"}.with("kubectl uncordon a", "kubectl get nodes"),
		{Check: "apis", Result: Unknown, Object: "APIs", Meaning: "not looked at, and told in more words than go onto one line of a table that people read"},
	}
}

func TestFindingsForPeople(t *testing.T) {
	cases := map[string]struct {
		findings []Finding
		want     string
	}{
		"something is blocked": {someFindings(), `RESULT   CHECK  OBJECT                        MEANING
ok       dns    Service kube-system/kube-dns  it is there
blocked  nodes  Nodes                         none <of them>
unknown  apis   APIs                          not looked at, and told in more words than go onto one line of a table
                                              that people read

blocked: nodes, Nodes:
  kubectl uncordon a
  kubectl get nodes

1 blocked, 0 warning, 1 unknown, 1 ok: what is blocked does not work until it is mended
`},
		"nothing is": {someFindings()[:1], `RESULT  CHECK  OBJECT                        MEANING
ok      dns    Service kube-system/kube-dns  it is there

0 blocked, 0 warning, 0 unknown, 1 ok: nothing stands in the way
`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteText(&out, c.findings); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindingsForPrograms(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, someFindings()); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := report{Findings: someFindings(), Blocked: 1, Unknown: 1, OK: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.Contains(out.Bytes(), []byte("none <of them>")) {
		t.Errorf("what is written is escaped:\n%s", out.String())
	}
}
