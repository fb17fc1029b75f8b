package integration_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const limitWhere = "maxReplicas in ConfigMap agent-sandbox-system/agent-sandbox-warm-pool-limits"

// limitPools sets the data of the ConfigMap of limits, waits until creating a pool of 10 answers with want (empty: it may be made),
// and lifts the limit when the test ends.
func limitPools(t *testing.T, data map[string]string, want string) {
	t.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: install.Namespace, Name: "agent-sandbox-warm-pool-limits"}, Data: data}
	fixture.Create(t, user, config)
	awaitLimit(t, want)
	t.Cleanup(func() {
		if err := user.Delete(context.WithoutCancel(t.Context()), config); err != nil {
			t.Error(err)
		}
		awaitLimit(t, "")
	})
}

// awaitLimit waits until the API server has seen a change of the ConfigMap.
func awaitLimit(t *testing.T, want string) {
	t.Helper()
	template := fixture.Template(metav1.NamespaceDefault, "template")
	testkit.Eventually(t, "the limit in force", func() error {
		err := user.Create(context.WithoutCancel(t.Context()), fixture.Pool(template, "limited", 10), client.DryRunAll)
		return refusal(err, want)
	})
}

// A4.20: so many replicas and no more, by every way to ask for them.
func TestWarmPoolsKeepToTheLimit(t *testing.T) {
	large := newPool(t, 10) // before there is a limit
	limitPools(t, map[string]string{"maxReplicas": " 5\n"}, "spec.replicas: 10 is above 5, the most a warm pool may have by "+limitWhere)
	template := fixture.Template(large.Namespace, "template")
	const above = " is above 5, the most a warm pool may have by " + limitWhere + ": ask for fewer, or for a higher limit"
	checkForbidden(t, user.Create(t.Context(), fixture.Pool(template, "six", 6)), "spec.replicas: 6"+above)
	checkForbidden(t, user.Create(t.Context(), fixture.Pool(template, "most", 2_147_483_647)), "spec.replicas: 2147483647"+above)
	small := fixture.Pool(template, "small", 5)
	fixture.Create(t, user, small)
	unsaid := fixture.Pool(template, "unsaid", 0)
	unsaid.Spec.Replicas = nil
	fixture.Create(t, user, unsaid)

	checkForbidden(t, resize(t, small, 6), "spec.replicas: 6"+above)
	in := []string{"-n", large.Namespace}
	checkSays(t, "", "spec.replicas: 6"+above, append(in, "scale", "sandboxwarmpool", "small", "--replicas=6")...)
	mustKubectl(t, "", append(in, "scale", "sandboxwarmpool", "small", "--replicas=0")...)
	mustKubectl(t, "", append(in, "scale", "sandboxwarmpool", "small", "--replicas=5")...)

	// One that was larger before may stay, shrink and be edited, and not grow.
	edit(t, large, func(p *extensionsv1beta1.SandboxWarmPool) { p.Labels = map[string]string{"mine": "x"} })
	checkForbidden(t, resize(t, large, 11), "spec.replicas: 11"+above)
	checkForbidden(t, resize(t, large, 9), "")
	mustKubectl(t, "", append(in, "scale", "sandboxwarmpool", "pool", "--replicas=8")...)
	checkSays(t, "", "spec.replicas: 9"+above, append(in, "scale", "sandboxwarmpool", "pool", "--replicas=9")...)
}

func resize(t *testing.T, pool *extensionsv1beta1.SandboxWarmPool, replicas int32) error {
	t.Helper()
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	pool.Spec.Replicas = ptr.To(replicas)
	return user.Update(t.Context(), pool)
}

// A limit that cannot be read is none to be passed over: it says so, and lets through what does not grow.
func TestALimitOfWarmPoolsThatIsNoNumberIsTold(t *testing.T) {
	for name, value := range map[string]string{"a word": "many", "nothing": "", "below zero": "-1", "a fraction": "2.5", "too large": "99999999999999999999"} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, 3)
			limitPools(t, map[string]string{"maxReplicas": value}, limitWhere+`: "`+value+`" is no whole number from 0 to 999999999`)
			checkForbidden(t, resize(t, pool, 4), "no warm pool can be made or grow: correct it, or remove the key for no limit")
			checkForbidden(t, resize(t, pool, 2), "")
		})
	}
}

func TestAConfigMapWithoutTheKeyIsNoLimit(t *testing.T) {
	limitPools(t, map[string]string{"maxReplicas": "5"}, "spec.replicas: 10 is above 5")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: install.Namespace, Name: "agent-sandbox-warm-pool-limits"}}
	edit(t, config, func(c *corev1.ConfigMap) { c.Data = map[string]string{"maxreplicas": "5"} })
	awaitLimit(t, "")
}
