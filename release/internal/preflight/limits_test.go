package preflight

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func quantityOf(text string) *resource.Quantity {
	parsed := resource.MustParse(text)
	return &parsed
}

func listOf(name corev1.ResourceName, text string) corev1.ResourceList {
	return corev1.ResourceList{name: *quantityOf(text)}
}

func aRange(item corev1.LimitRangeItem) func(*Seen) {
	return func(seen *Seen) {
		seen.Namespace.Value = aNamespace(nil)
		seen.Ranges.Value = append(seen.Ranges.Value, corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "range"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
		})
	}
}

// One Pod of the core's controller asks for 250m of cpu, 256Mi of memory with a limit of 2Gi.
func TestLimitRangesThatRefuseOurPods(t *testing.T) {
	refused := []string{"blocked limits LimitRange agent-sandbox-system/range"}
	container, pod := corev1.LimitTypeContainer, corev1.LimitTypePod
	cpu, memory := corev1.ResourceCPU, corev1.ResourceMemory
	decide(t, targetOf(t, Sandbox, DefaultNamespace), map[string]change{
		"wide enough": {amiss: aRange(corev1.LimitRangeItem{Type: container, Min: listOf(cpu, "250m"), Max: listOf(memory, "2Gi")}), says: "no ResourceQuota or LimitRange refuses our Pods"},
		"a least":     {amiss: aRange(corev1.LimitRangeItem{Type: container, Min: listOf(cpu, "300m")}), want: refused, says: "they ask for 250m of cpu, and 300m is the least", wayOut: "edit limitrange range"},
		"a most":      {amiss: aRange(corev1.LimitRangeItem{Type: pod, Max: listOf(memory, "1Gi")}), want: refused, says: "their limit of memory is 2Gi, and 1Gi is the most"},
		"a most without a limit": {
			amiss: aRange(corev1.LimitRangeItem{Type: container, Max: listOf(cpu, "1")}), want: refused, says: "their limit of cpu is nothing, and 1 is the most",
		},
		"a most with a default":    {amiss: aRange(corev1.LimitRangeItem{Type: container, Max: listOf(cpu, "1"), Default: listOf(cpu, "1")})},
		"a default that is little": {amiss: aRange(corev1.LimitRangeItem{Type: container, Default: listOf(cpu, "100m")}), want: refused, says: "its default limit of cpu, 100m, is less than the 250m that they ask for"},
		"a ratio":                  {amiss: aRange(corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: listOf(memory, "4")}), want: refused, says: "more than 4 times"},
		"a ratio that holds":       {amiss: aRange(corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: listOf(memory, "8")})},
		"of disks":                 {amiss: aRange(corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Min: listOf(corev1.ResourceStorage, "1Ti")})},
		"that one may not read": {
			amiss: func(seen *Seen) {
				seen.Ranges.Denied = &Right{Verb: "list", Resource: "limitranges", Namespace: DefaultNamespace}
			},
			want: []string{"unknown limits LimitRanges"}, says: "you may not list limitranges in namespace agent-sandbox-system",
		},
	})
}

func aQuota(namespace string, name corev1.ResourceName, hard, used string) corev1.ResourceQuota {
	return corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: listOf(name, hard)}, Status: corev1.ResourceQuotaStatus{Used: listOf(name, used)},
	}
}

func ofPriority(quota corev1.ResourceQuota, operator corev1.ScopeSelectorOperator, classes ...string) corev1.ResourceQuota {
	quota.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: classes},
	}}
	return quota
}

func TestQuotasThatRefuseOurPods(t *testing.T) {
	target := everything(t)
	with := func(quota corev1.ResourceQuota) func(*Seen) {
		return func(seen *Seen) {
			seen.Namespace.Value = aNamespace(nil)
			seen.Quotas.Value = []corev1.ResourceQuota{quota}
		}
	}
	here := func(name corev1.ResourceName, hard, used string) corev1.ResourceQuota {
		return aQuota(DefaultNamespace, name, hard, used)
	}
	terminating := here(corev1.ResourcePods, "0", "0")
	terminating.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	notTerminating := here(corev1.ResourcePods, "0", "0")
	notTerminating.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	refused := []string{"blocked limits ResourceQuota agent-sandbox-system/quota"}
	decide(t, target, map[string]change{
		"room for two Pods": {amiss: with(here(corev1.ResourcePods, "2", "0"))},
		"room for one":      {amiss: with(here(corev1.ResourcePods, "2", "1")), want: refused, says: "they ask for 2 of pods, and 1 of 2 are used", wayOut: "edit resourcequota quota"},
		"counted otherwise": {amiss: with(here("count/pods", "1", "0")), want: refused, says: "they ask for 2 of count/pods"},
		"too little cpu":    {amiss: with(here("requests.cpu", "1", "600m")), want: refused, says: "they ask for 500m of requests.cpu, and 600m of 1 are used"},
		"by its short name": {amiss: with(here(corev1.ResourceCPU, "1", "600m")), want: refused, says: "500m of cpu"},
		"too little memory": {amiss: with(here("limits.memory", "3Gi", "0")), want: refused, says: "they ask for 4Gi of limits.memory"},
		"a limit that is not told": {
			amiss: with(here("limits.cpu", "100", "0")), want: refused, says: "it counts limits.cpu, which the Pods of agent-sandbox-controller do not tell",
		},
		"a limit that has a default": {
			amiss: func(seen *Seen) {
				aRange(corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: listOf(corev1.ResourceCPU, "1")})(seen)
				with(here("limits.cpu", "100", "0"))(seen)
			},
		},
		"what they do not use":    {amiss: with(here("requests.storage", "0", "0"))},
		"of Pods with a deadline": {amiss: with(terminating)},
		"of Pods without":         {amiss: with(notTerminating), want: refused},
		"of their priority":       {amiss: with(ofPriority(here(corev1.ResourcePods, "0", "0"), corev1.ScopeSelectorOpIn, "system-cluster-critical")), want: refused},
		"of another priority":     {amiss: with(ofPriority(here(corev1.ResourcePods, "0", "0"), corev1.ScopeSelectorOpIn, "low"))},
		"of all other priorities": {amiss: with(ofPriority(here(corev1.ResourcePods, "0", "0"), corev1.ScopeSelectorOpNotIn, "low")), want: refused},
		"of any priority":         {amiss: with(ofPriority(here(corev1.ResourcePods, "0", "0"), corev1.ScopeSelectorOpExists)), want: refused},
		"of none":                 {amiss: with(ofPriority(here(corev1.ResourcePods, "0", "0"), corev1.ScopeSelectorOpDoesNotExist))},
		"no room but for what runs": {
			amiss: func(seen *Seen) {
				with(here(corev1.ResourcePods, "2", "2"))(seen)
				for _, name := range controllerNames() {
					seen.Deployments.Value = append(seen.Deployments.Value, installed(target, name, 1))
				}
			},
			want: []string{"warning limits ResourceQuota agent-sandbox-system/quota"}, says: "our Pods run, but an update",
		},
	})
}

// On GKE, Pods of this class are refused where no quota names it: "insufficient quota to match these scopes".
func TestAPriorityThatTheClusterLimits(t *testing.T) {
	critical := func(namespace string) corev1.ResourceQuota {
		return ofPriority(aQuota(namespace, corev1.ResourcePods, "1G", "0"), corev1.ScopeSelectorOpIn, "system-node-critical", "system-cluster-critical")
	}
	want := []string{"warning limits PriorityClass system-cluster-critical"}
	decide(t, everything(t), map[string]change{
		"without a namespace": {
			amiss: func(seen *Seen) { seen.SystemQuotas.Value = []corev1.ResourceQuota{critical("kube-system")} },
			want:  want, says: "insufficient quota to match these scopes", wayOut: "kubectl create namespace agent-sandbox-system\nprintf",
		},
		"without a quota": {
			amiss: func(seen *Seen) {
				seen.Namespace.Value = aNamespace(nil)
				seen.SystemQuotas.Value = []corev1.ResourceQuota{critical("kube-system")}
			},
			want: want, wayOut: "values: [system-cluster-critical]}]}}",
		},
		"with one": {
			amiss: func(seen *Seen) {
				seen.SystemQuotas.Value = []corev1.ResourceQuota{critical("kube-system")}
				seen.Quotas.Value = []corev1.ResourceQuota{critical(DefaultNamespace)}
			},
		},
		"of another class": {
			amiss: func(seen *Seen) {
				seen.SystemQuotas.Value = []corev1.ResourceQuota{ofPriority(aQuota("kube-system", corev1.ResourcePods, "1", "0"), corev1.ScopeSelectorOpIn, "low")}
			},
		},
	})
}
