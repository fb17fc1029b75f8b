package chaos

import (
	"context"
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// controllerUser is who the controllers are to the API server.
const controllerUser = "system:serviceaccount:" + install.Namespace + ":" + install.CoreController

// meter counts what controllers do in a run.
type meter struct {
	client client.Client
	log    *audit.Log // nil: there is none
	terms  int32      // of leaders, before the run
}

func newMeter(ctx context.Context, c client.Client, auditLog string) (*meter, error) {
	terms, err := readTerms(ctx, c)
	if err != nil || auditLog == "" {
		return &meter{client: c, terms: terms}, err
	}
	log, err := audit.Open(auditLog)
	return &meter{client: c, log: log, terms: terms}, err
}

// readTerms returns how often the Lease has changed hands.
func readTerms(ctx context.Context, c client.Client) (int32, error) {
	lease := &coordinationv1.Lease{ObjectMeta: fixture.Named(install.Namespace, install.CoreLease)}
	err := c.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("reading Lease %s: %w", lease.Name, err)
	}
	return ptr.Deref(lease.Spec.LeaseTransitions, 0), nil
}

// read adds to a result what was done since the begin, and returns how often controllers deleted Pods, by name.
func (m *meter) read(ctx context.Context, into *Result) (map[string]int, error) {
	terms, err := readTerms(ctx, m.client)
	if err != nil {
		return nil, err
	}
	if into.Variant == Elected {
		into.Leaders = ptr.To(int(terms - m.terms))
	}
	if m.log == nil {
		return nil, nil
	}
	counts, err := m.log.Next()
	if err != nil {
		return nil, err
	}
	ours := func(k audit.Kind) bool {
		return k.User == controllerUser && k.Namespace == into.Variant.namespace() && k.IsWrite() && !k.IsEvent()
	}
	conflict := func(k audit.Kind) bool { return k.Code == http.StatusConflict }
	into.Writes, into.Conflicts = ptr.To(counts.Sum(ours)), ptr.To(counts.Sum(ours, conflict))
	into.Refused = ptr.To(counts.Sum(ours, audit.Kind.Refused) - *into.Conflicts)
	ended := func(k audit.Kind) bool { return k.Verb == "delete" && k.Resource == "pods" && !k.Refused() }
	return counts.By(func(k audit.Kind) string { return k.Name }, ours, ended), nil
}
