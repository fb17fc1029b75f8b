package explain_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestAClaimIsExplained(t *testing.T) {
	of := func(c *extensionsv1beta1.SandboxClaim) explain.Seen {
		return explain.Seen{Now: now, Namespace: "team", Claim: c}
	}
	served := func(c *extensionsv1beta1.SandboxClaim, s *sandboxv1beta1.Sandbox, pods ...corev1.Pod) explain.Seen {
		read := seen(s, pods...)
		read.Claim = c
		return read
	}
	ready := claim("DependenciesReady", "Pod is Ready")
	ready.Status.Conditions[0].Status = metav1.ConditionTrue
	cold := ready.DeepCopy()
	cold.Status.Conditions = append(cold.Status.Conditions, conditions("ColdStart", "WarmPoolSizeZero", "the pool has 0 replicas", metav1.ConditionTrue)...)
	silent := claim("", "")
	silent.Status.Conditions = nil
	withPools := of(claim("WarmPoolNotFound", "not found"))
	withPools.PoolNames = []string{"agent", "batch"}
	withPool := of(claim("SandboxMissing", "none"))
	withPool.Pool = pool(2, 0, "WarmPoolNotProgressing", "no node", metav1.ConditionFalse)
	boxReady := waits(func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions[0].Status = metav1.ConditionTrue })
	cases := map[string]struct {
		seen explain.Seen
		why  string
		want []string
	}{
		"one that has a Sandbox is well":               {of(ready), "", []string{"ok AllWell"}},
		"one whose Sandbox was started for it is told": {of(cold), "", []string{"ok AllWell", "note StartedCold"}},
		"one that nobody looks at is stuck":            {of(silent), "", []string{"stuck ControllerSilent"}},
		"one that is held in its deletion is stuck":    {of(deleted(claim("", ""), time.Hour, "a/b")), "a/b", []string{"stuck FinalizerHolds"}},
		"its pool is missing, and there are others":    {withPools, "agent, batch", []string{"stuck PoolMissing"}},
		"its pool is missing, and there is none":       {of(claim("WarmPoolNotFound", "not found")), "none in the namespace", []string{"stuck PoolMissing"}},
		"the template of its pool is missing":          {of(claim("TemplateNotFound", "gone")), "gone", []string{"stuck TemplateMissing"}},
		"its variables are refused":                    {of(claim("EnvVarsInjectionRejected", "A is not allowed")), "A is", []string{"stuck ClaimRefused"}},
		"its disks are refused":                        {of(claim("VolumeClaimTemplatesError", "no")), "no", []string{"stuck ClaimRefused"}},
		"its metadata is refused":                      {of(claim("InvalidMetadata", "no")), "no", []string{"stuck ClaimRefused"}},
		"one that has expired is as it was asked for":  {of(claim("ClaimExpired", "over")), "over", []string{"note Expired"}},
		"a Sandbox of its name is somebody else's":     {of(claim("AdoptionConflict", "Job a")), "Job a", []string{"stuck Conflict"}},
		"it waits, and its pool is held":               {withPool, "none", []string{"waiting NoSandboxYet", "stuck PoolHeld pool/agents"}},
		"its Sandbox is invalid":                       {of(claim("InvalidConfiguration", "spec.x")), "spec.x", []string{"stuck InvalidSpec"}},
		"a quota for Sandboxes stands in the way":      {of(claim("QuotaExceeded", "count")), "count", []string{"stuck QuotaExceeded"}},
		"anything else is told":                        {of(claim("ReconcilerError", "forbidden")), "forbidden", []string{"stuck Refused"}},
		"its Sandbox cannot have its image": {
			served(claim("DependenciesNotReady", "Pod exists"), waits(), pod(container("ErrImagePull", "no such image"))), "no such image",
			[]string{"stuck ImagePull sandbox/box"},
		},
		"its Sandbox is ready, which it does not say yet": {served(claim("DependenciesNotReady", "Pod exists"), boxReady), "Pod exists", []string{"waiting ControllerBehind"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, explain.Claim(c.seen), c.why, c.want...) })
	}
}

func TestAPoolIsExplained(t *testing.T) {
	of := func(p *extensionsv1beta1.SandboxWarmPool) explain.Seen {
		return explain.Seen{Now: now, Namespace: "team", Pool: p}
	}
	progressing := func(size, ready int32) explain.Seen {
		return of(pool(size, ready, "WarmPoolProgressing", "on its way", metav1.ConditionTrue))
	}
	held := of(pool(2, 0, "WarmPoolNotProgressing", "0/1 nodes", metav1.ConditionFalse))
	heldMember := held
	heldMember.Sandbox, heldMember.Pods = waits(), []corev1.Pod{pod(unscheduled(corev1.PodReasonUnschedulable, "0/1 nodes"))}
	broken := of(pool(2, 0, "SandboxTemplateError", "not found", metav1.ConditionFalse))
	brokenTemplate := broken
	brokenTemplate.Template = &extensionsv1beta1.SandboxTemplate{}
	silent := pool(1, 0, "", "", metav1.ConditionUnknown)
	silent.Status.ObservedGeneration = 0
	cases := map[string]struct {
		seen explain.Seen
		why  string
		want []string
	}{
		"one that is full is well":                  {progressing(2, 2), "", []string{"ok AllWell"}},
		"one that fills waits":                      {progressing(3, 1), "on its way", []string{"waiting PoolFilling"}},
		"one of 0 is told":                          {progressing(0, 0), "", []string{"note PoolOfZero"}},
		"one that nobody looks at is stuck":         {of(silent), "", []string{"stuck ControllerSilent"}},
		"one that is held in its deletion is stuck": {of(deleted(pool(1, 1, "", "", metav1.ConditionTrue), time.Hour, "a/b")), "a/b", []string{"stuck FinalizerHolds"}},
		"one that comes no nearer is stuck":         {held, "0/1 nodes", []string{"stuck PoolHeld"}},
		"one that comes no nearer names a member":   {heldMember, "0/1 nodes", []string{"stuck PoolHeld", "stuck Unschedulable sandbox/box"}},
		"its template is missing":                   {broken, "not found", []string{"stuck TemplateMissing"}},
		"its template is there, and refused":        {brokenTemplate, "not found", []string{"stuck InvalidSpec"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, explain.Pool(c.seen), c.why, c.want...) })
	}
}

func TestATemplateIsExplained(t *testing.T) {
	of := func(reason string, status metav1.ConditionStatus, more ...metav1.Condition) explain.Seen {
		template := &extensionsv1beta1.SandboxTemplate{ObjectMeta: named("agents")}
		template.Status.Conditions = append(conditions(extensionsv1beta1.ConditionReady, reason, "the message", status), more...)
		return explain.Seen{Now: now, Namespace: "team", Template: template}
	}
	lockedOut := conditions(extensionsv1beta1.ConditionRouterReachable, "RouterLockedOut", "no rule", metav1.ConditionFalse)
	cases := map[string]struct {
		seen explain.Seen
		want []string
	}{
		"one with its policy is well":        {of("NetworkPolicyApplied", metav1.ConditionTrue), []string{"ok AllWell"}},
		"one that locks the router out says": {of("NetworkPolicyApplied", metav1.ConditionTrue, lockedOut...), []string{"ok AllWell", "note RouterLockedOut"}},
		"a policy is somebody else's":        {of("NetworkPolicyConflict", metav1.ConditionFalse), []string{"stuck NetworkPolicy"}},
		"a policy is on its way out":         {of("NetworkPolicyTerminating", metav1.ConditionFalse), []string{"stuck NetworkPolicy"}},
		"a policy is invalid":                {of("NetworkPolicyInvalid", metav1.ConditionFalse), []string{"stuck NetworkPolicy"}},
		"a policy closes everything":         {of("NetworkPolicyClosed", metav1.ConditionFalse), []string{"stuck NetworkPolicy"}},
		"anything else is told":              {of("ReconcilerError", metav1.ConditionFalse), []string{"stuck NetworkPolicy"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, explain.Template(c.seen), "the message", c.want...) })
	}
}
