package images

import (
	"fmt"
	"strings"
	"time"
)

const (
	// Unknown stands for a commit or date that nobody knows.
	Unknown = "unknown"

	versionPackage = "sigs.k8s.io/agent-sandbox/shared/version"
	sourceURL      = "https://sigs.k8s.io/agent-sandbox"
	license        = "Apache-2.0"
)

// Stamp says which build this is: programs print it, images are labelled and dated with it.
type Stamp struct {
	version string
	commit  string
	date    string
	created time.Time
}

// NewStamp takes the version, the hash of the commit and its date as RFC 3339; the latter two may be Unknown. An
// unknown date dates images 1970-01-01, as any other choice would make each build different.
func NewStamp(version, commit, date string) (Stamp, error) {
	stamp := Stamp{version: version, commit: commit, date: date, created: time.Unix(0, 0).UTC()}
	for _, field := range []struct{ name, value string }{{"version", version}, {"commit", commit}, {"date", date}} {
		if field.value == "" || strings.ContainsAny(field.value, " \t\n'\"") {
			return Stamp{}, fmt.Errorf("%s %q: want one word, %s if need be", field.name, field.value, Unknown)
		}
	}
	if date == Unknown {
		return stamp, nil
	}
	parsed, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return Stamp{}, fmt.Errorf("date %q: want RFC 3339 or %s: %w", date, Unknown, err)
	}
	stamp.created = parsed.UTC()
	return stamp, nil
}

// linkerFlags are those of the Makefile's target build.
func (s Stamp) linkerFlags() string {
	flags := "-s -w"
	for _, variable := range []struct{ name, value string }{{"gitVersion", s.version}, {"gitCommit", s.commit}, {"buildDate", s.date}} {
		flags += fmt.Sprintf(" -X %s.%s=%s", versionPackage, variable.name, variable.value)
	}
	return flags
}

// annotations are those of the OCI image specification, for image, index and labels alike.
func (s Stamp) annotations(title string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":    title,
		prefix + "version":  s.version,
		prefix + "revision": s.commit,
		prefix + "created":  s.created.Format(time.RFC3339),
		prefix + "source":   sourceURL,
		prefix + "licenses": license,
	}
}
