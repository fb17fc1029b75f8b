package chaos

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// watched is an observer, and what it found broken.
type watched struct {
	*observer
	found []string
}

func newWatched() *watched {
	w := &watched{}
	w.observer = newObserver(newDiary(time.Now(), io.Discard), func(v check.Violation) { w.found = append(w.found, v.String()) })
	return w
}

func meta(name, uid, owner string) metav1.ObjectMeta {
	object := metav1.ObjectMeta{Name: name, UID: types.UID(uid)}
	if owner != "" {
		sandbox := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Name: "box", UID: types.UID(owner)}}
		object.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(sandbox, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind)),
		}
	}
	return object
}

func pod(name, uid, owner string) *corev1.Pod { return &corev1.Pod{ObjectMeta: meta(name, uid, owner)} }

func claim(uid, owner, version string) *corev1.PersistentVolumeClaim {
	object := meta("data-box", uid, owner)
	object.ResourceVersion = version
	return &corev1.PersistentVolumeClaim{ObjectMeta: object}
}

func sandbox(uid, version string) *sandboxv1beta1.Sandbox {
	object := meta("box", uid, "")
	object.ResourceVersion = version
	return &sandboxv1beta1.Sandbox{ObjectMeta: object}
}

func TestObserverFindsWhatMustNeverBe(t *testing.T) {
	cases := map[string]struct {
		happens func(*watched)
		want    string
	}{
		"one Pod after the other": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnDelete(pod("box", "pod-1", "a"))
			w.OnAdd(pod("box", "pod-2", "a"), false)
		}, ""},
		"a Pod in the place of another whose end was not seen": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnUpdate(pod("box", "pod-1", "a"), pod("box", "pod-2", "a"))
		}, ""},
		"a Pod whose end was seen late": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: pod("box", "pod-1", "a")})
			w.OnAdd(pod("box", "pod-2", "a"), false)
		}, ""},
		"two Pods of one Sandbox": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnAdd(pod("other", "pod-2", "a"), false)
		}, "Pod other: there are two of Sandbox box at a time"},
		"a Pod beside that of an earlier Sandbox": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnAdd(pod("other", "pod-2", "b"), false)
		}, "Pod other: there are two of Sandbox box at a time"},
		"a second Pod that is taken over": {func(w *watched) {
			w.OnAdd(pod("box", "pod-1", "a"), false)
			w.OnAdd(pod("other", "pod-2", ""), false)
			w.OnUpdate(pod("other", "pod-2", ""), pod("other", "pod-2", "a"))
		}, "Pod other: there are two of Sandbox box at a time"},
		"a disk that is taken over by a later Sandbox": {func(w *watched) {
			w.OnAdd(claim("disk", "a", "1"), false)
			w.OnUpdate(claim("disk", "a", "1"), claim("disk", "", "2"))
			w.OnDelete(sandbox("a", "3"))
			w.OnUpdate(claim("disk", "", "2"), claim("disk", "b", "4"))
		}, ""},
		"a disk that is replaced before its Sandbox ends": {func(w *watched) {
			w.OnAdd(claim("disk", "a", "1"), false)
			w.OnDelete(claim("disk", "a", "2"))
			w.OnAdd(claim("disk-2", "a", "3"), false)
			w.OnDelete(sandbox("a", "4"))
		}, "Sandbox box: its Sandbox (UID a) had the one of UID disk first, and got that of UID disk-2"},
		"a disk that is replaced before the end of its Sandbox, which is seen first": {func(w *watched) {
			w.OnAdd(claim("disk", "a", "1"), false)
			w.OnDelete(sandbox("a", "4"))
			w.OnAdd(claim("disk-2", "a", "3"), false)
		}, "PersistentVolumeClaim data-box: its Sandbox (UID a) had the one of UID disk first, and got that of UID disk-2"},
		"a disk that a late controller makes for a Sandbox that is gone": {func(w *watched) {
			w.OnAdd(claim("disk", "a", "1"), false)
			w.OnDelete(sandbox("a", "2"))
			w.OnDelete(claim("disk", "a", "3"))
			w.OnAdd(claim("disk-2", "a", "4"), false)
		}, ""},
		"a disk that was left behind and that a late controller takes over for a Sandbox that is gone": {func(w *watched) {
			w.OnAdd(claim("disk", "a", "1"), false)
			w.OnUpdate(claim("disk", "a", "1"), claim("disk", "", "2"))
			w.OnDelete(sandbox("a", "3"))
			w.OnUpdate(claim("disk", "", "2"), claim("disk", "a", "400"))
		}, "PersistentVolumeClaim data-box: data-box (UID disk) was left behind, and taken over for a Sandbox (UID a) that was gone"},
		"the same, seen in another order": {func(w *watched) {
			w.OnAdd(claim("disk", "", "2"), false)
			w.OnUpdate(claim("disk", "", "2"), claim("disk", "a", "400"))
			w.OnDelete(sandbox("a", "3"))
		}, "Sandbox box: data-box (UID disk) was left behind, and taken over for a Sandbox (UID a) that was gone"},
		"a disk whose Sandbox goes while it is being taken over": {func(w *watched) {
			w.OnAdd(claim("disk", "", "2"), false)
			w.OnDelete(sandbox("a", "3"))
			w.OnUpdate(claim("disk", "", "2"), claim("disk", "a", "4"))
		}, ""},
		"a disk that is taken over in time": {func(w *watched) {
			w.OnAdd(claim("disk", "", "1"), false)
			w.OnUpdate(claim("disk", "", "1"), claim("disk", "a", "2"))
			w.OnDelete(sandbox("a", "3"))
		}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWatched()
			c.happens(w)
			if text := strings.Join(w.found, "\n"); !strings.Contains(text, c.want) || (c.want == "") != (text == "") {
				t.Errorf("found %q, want %q", text, c.want)
			}
		})
	}
}

func TestObserverCountsWhatIsMadeAndTakenOver(t *testing.T) {
	w := newWatched()
	w.OnAdd(pod("box", "pod-1", "a"), false)
	w.OnUpdate(pod("box", "pod-1", "a"), pod("box", "pod-1", ""))
	w.OnUpdate(pod("box", "pod-1", ""), pod("box", "pod-1", "b"))
	w.OnDelete(pod("box", "pod-1", "b"))
	w.OnAdd(pod("box", "pod-2", "b"), false)
	if made, adopted := w.counts(); made != 2 || adopted != 1 {
		t.Errorf("%d made and %d taken over, want 2 and 1", made, adopted)
	}
}
