package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limits are what a namespace allows.
type Limits struct {
	Quotas []corev1.ResourceQuota
	Ranges []corev1.LimitRange
}

// IsEmpty reports whether nothing is limited.
func (l Limits) IsEmpty() bool { return len(l.Quotas) == 0 && len(l.Ranges) == 0 }

// Obstacle names what refuses obj, a Pod, a PersistentVolumeClaim or a Service that is to be created; empty when nothing
// does. The text tells the same as long as obj and the limits are the same, however much of a quota is used.
func (l Limits) Obstacle(obj client.Object) string {
	var obstacles []string
	if spoiler := l.Spoiler(obj); spoiler != "" {
		obstacles = append(obstacles, spoiler)
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		obj = l.withDefaults(pod)
	}
	for i := range l.Ranges {
		if broken := brokenBounds(&l.Ranges[i], obj); len(broken) > 0 {
			obstacles = append(obstacles, fmt.Sprintf("LimitRange %q does not allow it: %s", l.Ranges[i].Name, strings.Join(broken, ", ")))
		}
	}
	for i := range l.Quotas {
		if short := shortages(&l.Quotas[i], obj); len(short) > 0 {
			obstacles = append(obstacles, fmt.Sprintf("ResourceQuota %q leaves no room for it: %s", l.Quotas[i].Name, strings.Join(short, ", ")))
		}
	}
	return strings.Join(obstacles, "; ")
}

// shortages are the resources of a quota that obj asks more of than is left, or, where the quota wants it, nothing at all.
func shortages(quota *corev1.ResourceQuota, obj client.Object) []string {
	if !inScope(quota, obj) {
		return nil
	}
	var short []string
	asked := usage(obj)
	for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
		hard := quota.Status.Hard[name]
		want, asks := asked[name]
		sum := want.DeepCopy()
		sum.Add(quota.Status.Used[name])
		if asks && !want.IsZero() && sum.Cmp(hard) > 0 {
			short = append(short, fmt.Sprintf("%s (requested %s of %s)", name, want.String(), hard.String()))
		}
		if unset := containersWithout(obj, name); len(unset) > 0 {
			short = append(short, fmt.Sprintf("%s must be set for container %s", name, strings.Join(unset, ", ")))
		}
	}
	return short
}

// MakesRoom says whether a quota allows more after a change than before: a bound was raised or lifted, or less is used.
func MakesRoom(before, after *corev1.ResourceQuota) bool {
	if !slices.Equal(before.Spec.Scopes, after.Spec.Scopes) || !equality.Semantic.DeepEqual(before.Spec.ScopeSelector, after.Spec.ScopeSelector) {
		return true
	}
	for name, hard := range before.Status.Hard {
		now, bounded := after.Status.Hard[name]
		used, usedNow := before.Status.Used[name], after.Status.Used[name]
		if !bounded || now.Cmp(hard) > 0 || usedNow.Cmp(used) < 0 {
			return true
		}
	}
	return false
}
