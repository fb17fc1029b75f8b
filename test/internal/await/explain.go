package await

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	explainTimeout = 5 * time.Second
	explainEvents  = 10 // at most, the latest
)

// fromVersion makes a watch begin where a list ended.
func fromVersion(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version}
}

// explain lists the object's conditions, and the Events about it and its namesakes, as indented lines.
func explain(ctx context.Context, c client.Client, object client.Object) string {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var text strings.Builder
	live, _ := object.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		fmt.Fprintf(&text, "\n  reading it: %v", err)
	} else {
		for _, line := range conditions(live) {
			text.WriteString("\n  condition " + line)
		}
	}
	for _, line := range eventsAbout(ctx, c, object) {
		text.WriteString("\n  event " + line)
	}
	return text.String()
}

func conditions(object client.Object) []string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return []string{err.Error()}
	}
	items, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	lines := make([]string, 0, len(items))
	for _, item := range items {
		condition, _ := item.(map[string]any)
		line := fmt.Sprintf("%v=%v", condition["type"], condition["status"])
		for _, key := range []string{"reason", "message"} {
			if value, found := condition[key]; found {
				line += fmt.Sprintf(" %v", value)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func eventsAbout(ctx context.Context, c client.Client, object client.Object) []string {
	events := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.name": object.GetName()}
	if err := c.List(ctx, events, client.InNamespace(object.GetNamespace()), about); err != nil {
		return []string{fmt.Sprintf("list: %v", err)}
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return when(a).Compare(when(b)) })
	latest := events.Items[max(0, len(events.Items)-explainEvents):]
	lines := make([]string, 0, len(latest))
	for _, e := range latest {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", e.Type, e.InvolvedObject.Kind, e.Reason, e.Message))
	}
	return lines
}

// when an Event was last seen: the two Event APIs say it in different fields.
func when(e corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
