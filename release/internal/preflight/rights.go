package preflight

import (
	"fmt"
	"slices"
	"strings"
)

func checkRights(seen Seen, target Target) []Finding {
	const install, grant = "your rights", "the controllers' rights"
	if unknown := seen.Rights.unknown(install); unknown != nil {
		return unknown
	}
	rights := seen.Rights.Value
	findings := []Finding{ok(install, "you may get, create and patch all that is installed")}
	if missing := lacking(rights, target.installRights()); len(missing) > 0 {
		findings[0] = blocked(install, "kubectl apply needs rights that you do not have: %s. Ask for them, or let somebody install who has them", tell(missing)).
			with("kubectl auth can-i " + missing[0].arguments())
	}
	missing := lacking(rights, target.grantedRights())
	if mayGrant(rights, target) || len(missing) == 0 {
		return append(findings, ok(grant, "you may give the controllers what their roles hold"))
	}
	return append(findings, blocked(grant,
		"nobody may give away rights that they do not have, and the roles of the controllers hold some that you lack: %s. Let somebody install who has them, or who may escalate and bind roles", tell(missing)))
}

func lacking(have map[Right]bool, want []Right) []Right {
	var missing []Right
	for _, right := range want {
		if !have[right] && !slices.Contains(missing, right) {
			missing = append(missing, right)
		}
	}
	return missing
}

// tell joins rights as one says them: create and patch pods and services in namespace x; get nodes.
func tell(rights []Right) string {
	verbs := groups(rights, func(r Right) (Right, string) {
		verb := r.Verb
		r.Verb = ""
		return r, verb
	})
	resources := groups(verbs, func(r Right) (Right, string) { return Right{Verb: r.Verb, Namespace: r.Namespace}, r.on() })
	var parts []string
	for _, right := range resources {
		parts = append(parts, right.String())
	}
	return strings.Join(parts, "; ")
}

// groups joins the part of each right that varies, where the rest is the same.
func groups(rights []Right, split func(Right) (rest Right, varies string)) []Right {
	var order []Right
	parts := map[Right][]string{}
	for _, right := range rights {
		rest, varies := split(right)
		if parts[rest] == nil {
			order = append(order, rest)
		}
		parts[rest] = append(parts[rest], varies)
	}
	for i, rest := range order {
		if rest.Verb == "" {
			order[i].Verb = and(parts[rest])
		} else {
			order[i].Resource = and(parts[rest])
		}
	}
	return order
}

// and joins words as one says them: a, b and c.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// some names the first three of many.
func some(words []string) string {
	const most = 3
	if len(words) <= most {
		return and(words)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}
