package sighting_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
)

// server answers lists and watches as it is told to.
type server struct {
	client.WithWatch
	lists   chan corev1.PodList
	watches chan watching
}

// watching is the answer to a watch.
type watching struct {
	from   string // the version that is expected
	err    error
	events []watch.Event
	stays  bool
}

func (s *server) List(ctx context.Context, into client.ObjectList, _ ...client.ListOption) error {
	select {
	case list := <-s.lists:
		*into.(*corev1.PodList) = list
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) Watch(ctx context.Context, _ client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	var o client.ListOptions
	o.ApplyOptions(options)
	select {
	case w := <-s.watches:
		if w.from != o.Raw.ResourceVersion {
			return nil, apierrors.NewInternalError(fmt.Errorf("watch from %s, want %s", o.Raw.ResourceVersion, w.from))
		}
		events := watch.NewFakeWithChanSize(len(w.events), false)
		for _, e := range w.events {
			events.Action(e.Type, e.Object)
		}
		if !w.stays {
			// What is buffered is read before the end is.
			events.Stop()
		}
		return events, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func pod(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func list(version string, pods ...*corev1.Pod) corev1.PodList {
	all := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, p := range pods {
		all.Items = append(all.Items, *p)
	}
	return all
}

func describe(c sighting.Change) string {
	text := "seen:"
	if c.Unseen {
		text = "unseen:"
	}
	for _, object := range []client.Object{c.Before, c.After} {
		if object == nil {
			text += " nothing"
		} else {
			text += fmt.Sprintf(" %s/%s/%s", object.GetName(), object.GetUID(), object.GetResourceVersion())
		}
	}
	return text
}

// witness collects what is told.
type witness struct {
	mu   sync.Mutex
	told []string
}

func (w *witness) see(c sighting.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, describe(c))
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.told...)
}

func TestWatchGoesOnAfterARestart(t *testing.T) {
	cases := map[string]struct {
		lists   []corev1.PodList
		watches []watching
		want    []string
	}{
		"a watch that ends goes on from its last version": {
			lists: []corev1.PodList{list("1")},
			watches: []watching{
				{from: "1", events: []watch.Event{{Type: watch.Added, Object: pod("a", "1", "2")}}},
				{from: "2", events: []watch.Event{{Type: watch.Modified, Object: pod("a", "1", "3")}, {Type: watch.Deleted, Object: pod("a", "1", "4")}}},
			},
			want: []string{"seen: nothing a/1/2", "seen: a/1/2 a/1/3", "seen: a/1/4 nothing"},
		},
		"a bookmark says how far it is": {
			lists: []corev1.PodList{list("1")},
			watches: []watching{
				{from: "1", events: []watch.Event{{Type: watch.Bookmark, Object: pod("", "", "7")}}},
				{from: "7", events: []watch.Event{{Type: watch.Added, Object: pod("a", "1", "8")}}},
			},
			want: []string{"seen: nothing a/1/8"},
		},
		"where the version is too old, a list shows what was missed": {
			lists: []corev1.PodList{
				list("3", pod("kept", "1", "1"), pod("changed", "2", "2"), pod("gone", "3", "3")),
				list("9", pod("kept", "1", "1"), pod("changed", "2", "8")),
			},
			watches: []watching{
				{from: "3", err: apierrors.NewResourceExpired("too old")},
				{from: "9", events: []watch.Event{{Type: watch.Added, Object: pod("new", "4", "10")}}},
			},
			want: []string{
				"seen: nothing kept/1/1", "seen: nothing changed/2/2", "seen: nothing gone/3/3",
				"unseen: gone/3/3 nothing", "unseen: changed/2/2 changed/2/8", "seen: nothing new/4/10",
			},
		},
		"the same, told by the watch, and with another object of the name": {
			lists: []corev1.PodList{list("3", pod("a", "1", "3")), list("9", pod("a", "2", "8"))},
			watches: []watching{
				{from: "3", events: []watch.Event{{Type: watch.Error, Object: &metav1.Status{Reason: metav1.StatusReasonExpired}}}},
				{from: "9", stays: true},
			},
			want: []string{"seen: nothing a/1/3", "unseen: a/1/3 nothing", "unseen: nothing a/2/8"},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := &server{lists: make(chan corev1.PodList, len(tt.lists)), watches: make(chan watching, len(tt.watches))}
			for _, l := range tt.lists {
				s.lists <- l
			}
			for _, w := range tt.watches {
				s.watches <- w
			}
			if diff := cmp.Diff(tt.want, toldBy(t, s, len(tt.want))); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// toldBy returns what a watch tells, once it is so many changes.
func toldBy(t *testing.T, s *server, count int) []string {
	t.Helper()
	w := &witness{}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	watched, err := sighting.Start(ctx, s, "ns", w.see, &corev1.PodList{})
	if err != nil {
		t.Fatal(err)
	}
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for len(w.all()) < count {
		select {
		case <-ticker.C:
		case <-patience.C:
			t.Fatalf("told only %q", w.all())
		}
	}
	if watched.Late() > 0 {
		t.Errorf("%d changes came too late", watched.Late())
	}
	return w.all()
}
