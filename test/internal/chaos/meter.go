package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// meter counts what controllers do in a run.
type meter struct {
	client   client.Client
	settings Settings
	log      *audit.Log       // nil: there is none
	terms    map[string]int32 // of leaders, before the run, by controller
}

func newMeter(ctx context.Context, c client.Client, settings Settings, auditLog string) (*meter, error) {
	m := &meter{client: c, settings: settings}
	var err error
	if m.terms, err = m.readTerms(ctx); err != nil || auditLog == "" {
		return m, err
	}
	m.log, err = audit.Open(auditLog)
	return m, err
}

// readTerms returns how often the Leases have changed hands.
func (m *meter) readTerms(ctx context.Context) (map[string]int32, error) {
	terms := map[string]int32{}
	for _, controller := range m.settings.Subject.controllers() {
		lease := &coordinationv1.Lease{ObjectMeta: fixture.Named(install.Namespace, install.LeaseOf(controller))}
		err := m.client.Get(ctx, client.ObjectKeyFromObject(lease), lease)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading Lease %s: %w", lease.Name, err)
		}
		terms[controller] = ptr.Deref(lease.Spec.LeaseTransitions, 0)
	}
	return terms, nil
}

// isOurs says whether a request is one of the controllers in a run's namespace.
func (s Settings) isOurs(k audit.Kind) bool {
	return k.Namespace == s.namespace() && slices.ContainsFunc(s.Subject.controllers(), func(controller string) bool {
		return k.User == install.UserOf(controller)
	})
}

// read adds to a result what was done since the begin, and returns the requests there were; none where there is no log.
func (m *meter) read(ctx context.Context, into *Result) (audit.Counts, error) {
	terms, err := m.readTerms(ctx)
	if err != nil {
		return nil, err
	}
	if into.Variant == Elected {
		into.LeadersBy = map[string]int{}
		for controller, now := range terms {
			into.LeadersBy[controller] = int(now - m.terms[controller])
		}
		into.Leaders = ptr.To(sum(into.LeadersBy))
	}
	if m.log == nil {
		return audit.Counts{}, nil
	}
	counts, err := m.log.Next()
	if err != nil {
		return nil, err
	}
	write := func(k audit.Kind) bool { return m.settings.isOurs(k) && k.IsWrite() && !k.IsEvent() }
	conflict := func(k audit.Kind) bool { return k.Code == http.StatusConflict }
	into.Writes, into.Conflicts = ptr.To(counts.Sum(write)), ptr.To(counts.Sum(write, conflict))
	into.Refused = ptr.To(counts.Sum(write, audit.Kind.Refused) - *into.Conflicts)
	return counts, nil
}
