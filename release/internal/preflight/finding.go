package preflight

import "fmt"

// Result is what a check came to.
type Result string

const (
	// OK stands in nobody's way.
	OK Result = "ok"
	// Warning lets an installation work, but not everything that one may expect of it.
	Warning Result = "warning"
	// Blocked keeps the installation, or what is named, from working.
	Blocked Result = "blocked"
	// Unknown was not to be read; the meaning names the right that is missing.
	Unknown Result = "unknown"
)

// Finding is what one check says of one object.
type Finding struct {
	// Check is the name of the check.
	Check string `json:"check"`
	// Result of it.
	Result Result `json:"result"`
	// Object is what was looked at.
	Object string `json:"object"`
	// Meaning says in plain words what that means.
	Meaning string `json:"meaning"`
	// WayOut are the commands that mend it, in their order. There may be none.
	WayOut []string `json:"wayOut,omitempty"`
}

// Count returns how many findings have that result.
func Count(findings []Finding, result Result) int {
	count := 0
	for _, finding := range findings {
		if finding.Result == result {
			count++
		}
	}
	return count
}

func ok(object, meaning string, args ...any) Finding {
	return Finding{Result: OK, Object: object, Meaning: fmt.Sprintf(meaning, args...)}
}

func warning(object, meaning string, args ...any) Finding {
	return Finding{Result: Warning, Object: object, Meaning: fmt.Sprintf(meaning, args...)}
}

func blocked(object, meaning string, args ...any) Finding {
	return Finding{Result: Blocked, Object: object, Meaning: fmt.Sprintf(meaning, args...)}
}

func (f Finding) with(wayOut ...string) Finding {
	f.WayOut = append(f.WayOut, wayOut...)
	return f
}

type check struct {
	name string
	run  func(Seen, Target) []Finding
}

// checks is the table of all of them, in the order in which they are told.
func checks() []check {
	return []check{
		{"kubernetes-version", checkVersion},
		{"apis", checkAPIs},
		{"rights", checkRights},
		{"crds", checkCRDs},
		{"stored-versions", checkStoredVersions},
		{"conversion-webhook", checkConversion},
		{"controllers", checkControllers},
		{"leases", checkLeases},
		{"namespace", checkNamespace},
		{"pod-security", checkPodSecurity},
		{"limits", checkLimits},
		{"nodes", checkNodes},
		{"runtime-classes", checkRuntimeClasses},
		{"network-policies", checkNetworkPolicies},
		{"storage-class", checkStorageClasses},
		{"dns", checkDNS},
	}
}

// Check runs every check over what was read.
func Check(seen Seen, target Target) []Finding {
	var findings []Finding
	for _, check := range checks() {
		for _, finding := range check.run(seen, target) {
			finding.Check = check.name
			findings = append(findings, finding)
		}
	}
	return findings
}
