//go:build node

package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// TestWarmAgainstCold measures: a claim of a warm Sandbox must not wait for a container.
func TestWarmAgainstCold(t *testing.T) {
	const claims = 5
	namespace := newNamespace(t)
	t.Logf("%-8s %10s %10s", "", "warm", "cold")
	for name, modify := range map[string]func(*extensionsv1beta1.SandboxTemplate){
		"runc": func(*extensionsv1beta1.SandboxTemplate) {}, "gvisor": underGVisor,
	} {
		warm := median(t, filled(t, namespace, name+"-warm", claims, modify), claims)
		cold := median(t, filled(t, namespace, name+"-cold", 0, modify), claims)
		t.Logf("%-8s %10s %10s", name, warm.Round(time.Millisecond), cold.Round(time.Millisecond))
		if warm >= cold {
			t.Errorf("%s: a warm claim takes %s, a cold one %s", name, warm, cold)
		}
	}
}

// median is how long a claim takes until it is Ready, from its creation on, of several that come one after the other.
func median(t *testing.T, pool *extensionsv1beta1.SandboxWarmPool, claims int) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range claims {
		claim := fixture.Claim(pool, fmt.Sprintf("%s-%d", pool.Name, i))
		began := time.Now()
		fixture.Create(t, user, claim)
		fixture.Must(t, user, claim, await.Served())
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
