package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// observer watches a namespace from before the first Sandbox to the end, and says so at once when something is there that
// must never be. It is safe for concurrent use.
type observer struct {
	diary *diary
	// broken is called with what must never be.
	broken func(check.Violation)

	mu        sync.Mutex
	sandboxes map[types.UID]string
	children  map[types.UID]known // those that exist
	order     order
	// made are Pods that had an owner from the first, adopted are children that got one later.
	made, adopted int
	latest        time.Time
}

// known is what is known of a child.
type known struct {
	kind, name string
	owner      metav1.OwnerReference // zero: none
}

func newObserver(d *diary, broken func(check.Violation)) *observer {
	return &observer{
		diary: d, broken: broken, latest: time.Now(),
		sandboxes: map[types.UID]string{}, children: map[types.UID]known{},
		order: newOrder(),
	}
}

// watch returns once all that exists has been seen; the watch goes on until ctx ends.
func (o *observer) watch(ctx context.Context, config *rest.Config, c client.Client, namespace string) error {
	informers, err := cache.New(config, cache.Options{
		Scheme: c.Scheme(), Mapper: c.RESTMapper(), DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	if err != nil {
		return fmt.Errorf("creating a watch: %w", err)
	}
	for _, object := range []client.Object{&sandboxv1beta1.Sandbox{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{}} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(o); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	go func() { _ = informers.Start(ctx) }() // it returns when ctx ends
	if !informers.WaitForCacheSync(ctx) {
		return errors.New("watching: interrupted")
	}
	return nil
}

// OnAdd implements toolscache.ResourceEventHandler.
func (o *observer) OnAdd(obj any, _ bool) { o.see(obj) }

// OnUpdate implements toolscache.ResourceEventHandler. After a watch that was broken off, the object can be another one of
// the same name.
func (o *observer) OnUpdate(before, after any) {
	old, isObject := before.(client.Object)
	if now, ok := after.(client.Object); ok && isObject && old.GetUID() != now.GetUID() {
		o.forget(before)
	}
	o.see(after)
}

// OnDelete implements toolscache.ResourceEventHandler. Only an end that was told has a version of its own.
func (o *observer) OnDelete(obj any) {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	} else if sandbox, ok := obj.(*sandboxv1beta1.Sandbox); ok {
		o.seeEnd(sandbox)
	}
	o.forget(obj)
}

func (o *observer) seeEnd(sandbox *sandboxv1beta1.Sandbox) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failAll(check.KindSandbox, sandbox.Name, o.order.ends(sandbox))
}

func (o *observer) see(obj any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = time.Now()
	switch obj := obj.(type) {
	case *sandboxv1beta1.Sandbox:
		o.sandboxes[obj.UID] = obj.Name
		o.diary.note(obj.Name, "Sandbox %s", describeSandbox(obj))
	case *corev1.Pod:
		o.diary.note(obj.Name, "Pod %s", describePod(obj))
		o.seeChild(obj, check.KindPod, obj.Name)
		o.checkOnePod(obj)
	case *corev1.PersistentVolumeClaim:
		o.diary.note(check.SandboxOfClaim(obj.Name), "PersistentVolumeClaim %s", describeMeta(obj))
		o.seeChild(obj, check.KindClaim, check.SandboxOfClaim(obj.Name))
		o.checkOneDisk(obj)
	case *corev1.Service:
		o.diary.note(obj.Name, "Service %s", describeMeta(obj))
		o.seeChild(obj, check.KindService, obj.Name)
	}
}

func (o *observer) forget(obj any) {
	object, ok := obj.(client.Object)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = time.Now()
	name := object.GetName()
	if _, isClaim := object.(*corev1.PersistentVolumeClaim); isClaim {
		name = check.SandboxOfClaim(name)
	}
	o.diary.note(name, "%T gone, UID %s", object, object.GetUID())
	delete(o.sandboxes, object.GetUID())
	delete(o.children, object.GetUID())
}

// seeChild counts what was made for its owner, and what was taken over.
func (o *observer) seeChild(object client.Object, kind, name string) {
	now := known{kind: kind, name: name}
	if ref := metav1.GetControllerOf(object); ref != nil {
		now.owner = *ref
	}
	before, existed := o.children[object.GetUID()]
	switch {
	case !existed && kind == check.KindPod && now.owner.UID != "":
		o.made++
	case existed && before.owner.UID == "" && now.owner.UID != "":
		o.adopted++
		o.failAll(kind, name, o.order.takesOver(now.owner.UID, object))
	}
	o.children[object.GetUID()] = now
}

// checkOnePod finds another Pod of the same Sandbox, or of one of the same name, that has not gone yet.
func (o *observer) checkOnePod(pod *corev1.Pod) {
	owner := o.children[pod.UID].owner
	if owner.UID == "" {
		return
	}
	for uid, other := range o.children {
		if uid != pod.UID && other.kind == check.KindPod && other.owner.Name == owner.Name && other.owner.Kind == owner.Kind {
			o.fail(check.KindPod, pod.Name, owner.Name, fmt.Sprintf(
				"there are two of Sandbox %s at a time: %s (UID %s, of Sandbox UID %s) and %s (UID %s, of Sandbox UID %s)",
				owner.Name, pod.Name, pod.UID, owner.UID, other.name, uid, other.owner.UID))
		}
	}
}

// checkOneDisk finds that a Sandbox has another disk than before.
func (o *observer) checkOneDisk(claim *corev1.PersistentVolumeClaim) {
	if owner := o.children[claim.UID].owner; owner.UID != "" {
		o.failAll(check.KindClaim, owner.Name, o.order.hasDisk(owner.UID, claim))
	}
}

// failAll fails for each thing that is wrong with a child of that kind.
func (o *observer) failAll(kind, sandbox string, broken []string) {
	name := sandbox
	if kind == check.KindClaim {
		name = check.ClaimName(sandbox)
	}
	for _, b := range broken {
		o.fail(kind, name, sandbox, b)
	}
}

func (o *observer) fail(kind, name, sandbox, broken string) {
	o.broken(check.Violation{Kind: kind, Name: name, Sandbox: sandbox, Broken: broken, History: o.diary.about(sandbox)})
}

// firstDisks returns the disks that Sandboxes had first.
func (o *observer) firstDisks() check.Disks {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.order.first)
}

// latestEvent is when something was last seen to change.
func (o *observer) latestEvent() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest
}

// living is how many Sandboxes exist.
func (o *observer) living() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sandboxes)
}

// counts returns how many Pods were made, and how many children were taken over.
func (o *observer) counts() (made, adopted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.made, o.adopted
}
