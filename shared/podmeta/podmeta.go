// Package podmeta decides which labels and annotations a Pod carries: those of its template, those of the system,
// and, untouched, those that others have put there.
package podmeta

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// Metadata is a set of labels and annotations.
type Metadata struct {
	Labels      map[string]string
	Annotations map[string]string
}

// Rules say which keys are the system's.
type Rules struct {
	// Reserved reports whether a key belongs to the system, so that users' metadata may not carry it.
	Reserved func(key string) bool
	// LabelsKey and AnnotationsKey are the annotations that list, sorted and comma-joined, the keys taken from the template.
	LabelsKey, AnnotationsKey string
}

// Desired is the metadata of a Pod: the template's without reserved keys, the lists of what was taken from it, and
// last, so that nothing overrides it, the system's.
func (r Rules) Desired(template, system Metadata) Metadata {
	labels := r.Unreserved(template.Labels)
	annotations := r.Unreserved(template.Annotations)
	lists := r.Lists(Metadata{Labels: labels, Annotations: annotations})
	maps.Copy(labels, system.Labels)
	maps.Copy(annotations, lists)
	maps.Copy(annotations, system.Annotations)
	return Metadata{Labels: labels, Annotations: annotations}
}

// Lists are the annotations that list the keys of metadata; a list without keys is left out.
func (r Rules) Lists(of Metadata) map[string]string {
	lists := map[string]string{r.LabelsKey: list(of.Labels), r.AnnotationsKey: list(of.Annotations)}
	maps.DeleteFunc(lists, func(_, keys string) bool { return keys == "" })
	return lists
}

// Change is what turns the metadata of a living Pod into desired: keys to set, keys once taken from the template and
// no longer in it, and reserved keys that have no business there. Everything else is somebody's and stays.
func (r Rules) Change(current, desired Metadata) apply.Metadata {
	return apply.Metadata{
		Labels:      r.changes(current.Labels, desired.Labels, current.Annotations[r.LabelsKey]),
		Annotations: r.changes(current.Annotations, desired.Annotations, current.Annotations[r.AnnotationsKey]),
	}
}

func (r Rules) changes(current, desired map[string]string, propagated string) map[string]*string {
	changes := apply.Changes(current, desired)
	taken := strings.Split(propagated, ",")
	for key := range current {
		_, wanted := desired[key]
		if !wanted && (r.Reserved(key) || slices.Contains(taken, key)) {
			changes[key] = nil
		}
	}
	return changes
}

// Unreserved returns a copy of users' labels or annotations without the keys that are the system's; never nil.
func (r Rules) Unreserved(from map[string]string) map[string]string {
	kept := maps.Clone(from)
	if kept == nil {
		kept = map[string]string{}
	}
	maps.DeleteFunc(kept, func(key, _ string) bool { return r.Reserved(key) })
	return kept
}

func list(keys map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(keys)), ",")
}
