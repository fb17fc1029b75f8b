package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

// requestMeasurements counts everybody's writes, and all that our controllers send. Refused requests count like others.
func requestMeasurements(requests audit.Counts, each float64) []report.Measurement {
	var all []report.Measurement
	add := func(name string, n int) {
		all = append(all, measured(name, report.Each, report.Mean, float64(n)/each))
	}
	addSorted := func(prefix string, sums map[string]int) {
		for _, key := range slices.Sorted(maps.Keys(sums)) {
			add(prefix+key, sums[key])
		}
	}
	add("writes of all, Events apart", requests.Sum(audit.Kind.IsWrite, noEvent))
	addSorted("writes by ", requests.By(sender, audit.Kind.IsWrite, noEvent))
	for _, c := range controllers() {
		addSorted(c.label+": ", requests.By(verbAndResource, c.sends, audit.Kind.IsWrite, noEvent))
		addSorted(c.label+", refused: ", requests.By(refusal, c.sends, audit.Kind.Refused))
		if reads := requests.Sum(c.sends, isRead); reads > 0 {
			add(c.label+": reads", reads)
		}
	}
	addSorted("Events by ", requests.By(sender, audit.Kind.IsWrite, audit.Kind.IsEvent))
	return all
}

func noEvent(k audit.Kind) bool              { return !k.IsEvent() }
func isRead(k audit.Kind) bool               { return !k.IsWrite() }
func (c controller) sends(k audit.Kind) bool { return k.User == c.user() }
func byController(k audit.Kind) bool {
	return slices.ContainsFunc(controllers(), func(c controller) bool { return c.sends(k) })
}
func verbAndResource(k audit.Kind) string { return k.Verb + " " + k.Resource }
func refusal(k audit.Kind) string         { return fmt.Sprintf("%s, %d", verbAndResource(k), k.Code) }

// sender says in whose place a user stands.
func sender(k audit.Kind) string {
	for _, c := range controllers() {
		if c.sends(k) {
			return c.label
		}
	}
	switch {
	case k.User == "system:kube-scheduler":
		return "scheduler"
	case k.User == "devcluster:kwok", strings.HasPrefix(k.User, "system:node:"):
		return "kubelets"
	case k.User == "system:kube-controller-manager", strings.HasPrefix(k.User, "system:serviceaccount:kube-system:"):
		return "Kubernetes' own controllers"
	default:
		return "client"
	}
}
