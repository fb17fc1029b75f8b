package audit

import (
	"fmt"
	"strings"
)

// Policy is an audit policy that logs each request for objects of some namespaces once, when it is answered, and nothing
// else. It leaves out watches, which end at their client's whim.
func Policy(namespaces ...string) []byte {
	return fmt.Appendf(nil, `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    verbs: [watch]
  - level: Metadata
    namespaces: [%s]
  - level: None
`, strings.Join(namespaces, ", "))
}
