package chaos

import (
	"fmt"
	"slices"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

// row is a line of the table.
type row struct {
	name  string
	value func(Result) string
}

func line(name string, value func(Result) any) row {
	return row{name, func(r Result) string { return fmt.Sprint(value(r)) }}
}

// rows are the lines of a subject's table.
func rows(s Subject) []row {
	if s == Claims {
		return rowsOfClaims()
	}
	return slices.Concat(begin(), []row{
		line("names of Sandboxes", func(r Result) any { return r.Sandboxes }),
	}, actions(schedule.Kinds()), []row{
		line("name was taken still", func(r Result) any { return r.Retries }),
		line("kills", func(r Result) any { return r.Kills }),
		line("restarts", func(r Result) any { return r.Restarts }),
		line("Lease changed hands", func(r Result) any { return optional(r.Leaders) }),
		line("Pods made", func(r Result) any { return r.Pods }),
		line("children taken over", func(r Result) any { return r.Adopted }),
	}, end())
}

// rowsOfClaims are those of runs about claims.
func rowsOfClaims() []row {
	all := slices.Concat(begin(), []row{
		line("names of claims", func(r Result) any { return r.Claims.Names }),
	}, actions(schedule.ClaimKinds()), []row{
		line("tried again", func(r Result) any { return r.Retries }),
	})
	for _, controller := range Claims.controllers() {
		all = append(all,
			line("kills, "+controller, func(r Result) any { return r.KillsBy[controller] }),
			line("  its Lease changed hands", func(r Result) any { return r.LeadersBy[controller] }))
	}
	for _, part := range []string{devcluster.APIServer, devcluster.Etcd} {
		all = append(all, line("kills, "+part, func(r Result) any { return r.Outages[part] }))
	}
	return slices.Concat(all, []row{
		line("restarts of controllers", func(r Result) any { return r.Restarts }),
		line("claims made", func(r Result) any { return r.Claims.Made }),
		line("Sandboxes published, warm", func(r Result) any { return r.Claims.Warm }),
		line("  cold", func(r Result) any { return r.Claims.Cold }),
		line("members adopted", func(r Result) any { return r.Claims.Adoptions }),
		line("Sandboxes replaced", func(r Result) any { return r.Claims.Replaced }),
		line("discards", func(r Result) any { return r.Claims.Discards }),
		line("left by the garbage collector", func(r Result) any { return r.Claims.Forgotten }),
		line("changes that no watch told", func(r Result) any { return r.Claims.Unseen }),
		line("writes by controllers for each claim", func(r Result) any { return perClaim(r) }),
	}, end())
}

func begin() []row {
	return []row{
		line("variant", func(r Result) any { return r.Variant }),
		line("seed", func(r Result) any { return r.Seed }),
		line("seconds of chaos", func(r Result) any { return r.Seconds }),
	}
}

func actions(kinds []schedule.Kind) []row {
	all := []row{line("actions", func(r Result) any { return sum(r.Actions) })}
	for _, kind := range kinds {
		all = append(all, line("  "+string(kind), func(r Result) any { return r.Actions[kind] }))
	}
	return append(all, line("  of these met nothing", func(r Result) any { return r.Missed }))
}

func end() []row {
	return []row{
		line("writes by controllers", func(r Result) any { return optional(r.Writes) }),
		line("  conflicts (409)", func(r Result) any { return optional(r.Conflicts) }),
		line("  otherwise refused", func(r Result) any { return optional(r.Refused) }),
		line("Sandboxes in the end", func(r Result) any { return r.Left }),
		line("seconds until quiescent", func(r Result) any { return fmt.Sprintf("%.1f", r.RestSeconds) }),
		line("violations", func(r Result) any { return len(r.Violations) }),
	}
}

// perClaim is how many writes there were for each claim that was made.
func perClaim(r Result) string {
	if r.Writes == nil || r.Claims.Made == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(*r.Writes)/float64(r.Claims.Made))
}

func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
