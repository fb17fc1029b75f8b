package integration_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// handOver is how long Sandboxes may be without a controller when the leader stops in order.
const handOver = 2 * time.Second

// acquired is what a controller's log says once it leads.
const acquired = "Successfully acquired lease"

func lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: fixture.Named(install.Namespace, install.CoreLease)}
}

func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// heldByOther wants the Lease to have a holder, and another one than before.
func heldByOther(before string) await.Want[*coordinationv1.Lease] {
	return func(seen *coordinationv1.Lease) string {
		if now := holder(seen); now == "" || now == before {
			return "its holder is " + now
		}
		return ""
	}
}

// awaitLeadership waits until the controller of a log has the Lease. It may still be held for one that has ended: a process that is
// stopped while it asks for the Lease gives up nothing, and may be given it all the same.
func awaitLeadership(t *testing.T, book *logBook) {
	t.Helper()
	testkit.EventuallyWithin(t, fixture.Patience, "leadership", func() error { return lacks(book.String(), acquired) })
}

func TestStandbyTakesOverWhenTheLeaderStops(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	leader, leaderLog := startController(t)
	awaitLeadership(t, leaderLog)
	first := holder(fixture.Must(t, user, lease(), heldByOther("")))
	standby, standbyLog := startController(t)
	namespace := testkit.Namespace(t, user)
	before := fixture.Sandbox(namespace, "before")
	fixture.Create(t, user, before)
	fixture.Must(t, user, before, await.Ready())

	began := time.Now()
	stopController(t, leader)
	stopped := time.Now()
	fixture.Must(t, user, lease(), heldByOther(first))
	if took := time.Since(stopped); took > handOver {
		t.Errorf("the standby took over %s after the leader had stopped, want %s at most", took, handOver)
	}
	t.Logf("the leader stopped in %s, the standby took over %s later", stopped.Sub(began), time.Since(stopped))
	after := fixture.Sandbox(namespace, "after")
	fixture.Create(t, user, after)
	fixture.Must(t, user, after, await.Ready())
	if err := user.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	stopController(t, standby)
	if seen := holder(fixture.Must(t, user, lease(), await.Exists[*coordinationv1.Lease]())); seen != "" {
		t.Errorf("after the last controller has stopped the Lease is still held by %s", seen)
	}
	checkLog(t, leaderLog)
	checkLog(t, standbyLog)
}
