package controllers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// population is the most Sandboxes of pools that a watch has ever seen at a time.
type population struct {
	mu      sync.Mutex
	members map[types.UID]bool
	most    int
}

// watchPopulation counts from now on, until the test ends.
func (w world) watchPopulation() *population {
	w.t.Helper()
	p := &population{members: map[types.UID]bool{}}
	watching, err := w.user.Watch(context.Background(), &sandboxv1beta1.SandboxList{}, client.InNamespace(w.namespace))
	w.must("watching Sandboxes", err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for event := range watching.ResultChan() {
			if box, ok := event.Object.(*sandboxv1beta1.Sandbox); ok {
				p.see(box, event.Type)
			}
		}
	}()
	w.t.Cleanup(func() {
		watching.Stop()
		<-stopped
	})
	return p
}

func (p *population) see(box *sandboxv1beta1.Sandbox, kind watch.EventType) {
	p.mu.Lock()
	defer p.mu.Unlock()
	owner := metav1.GetControllerOf(box)
	if kind == watch.Deleted || owner == nil || owner.Kind != extensionsv1beta1.SandboxWarmPoolKind {
		delete(p.members, box.UID)
		return
	}
	p.members[box.UID] = true
	p.most = max(p.most, len(p.members))
}

func (p *population) highest() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// A4.1, A4.11: a pool is filled in parallel, and never beyond its size, however many claims take from it at the same time.
func TestAPoolNeverOutgrowsItsSize(t *testing.T) {
	w := newWorld(t)
	seen := w.watchPopulation()
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 25)
	w.filled(pool)
	var claims []*extensionsv1beta1.SandboxClaim
	for i := range 40 {
		claims = append(claims, w.claim(fmt.Sprintf("claim-%d", i)))
	}
	for _, claim := range claims {
		w.bound(claim)
	}
	w.filled(pool)
	if seen.highest() > 25 {
		t.Errorf("%d members at a time", seen.highest())
	}
}

// A4.6, A4.7: a smaller pool loses what is not ready first, and says 0 when there is none.
func TestAPoolIsScaled(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 2)
	w.filled(pool)
	ready := w.sandboxes(nil)
	held := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}}
	edit(w, held, func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: "yes"}
	})
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 4 })
	testkit.Eventually(t, "two more members are made", func() error {
		if w.get(pool); pool.Status.Replicas != 4 || pool.Status.ReadyReplicas != 2 {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 2 })
	w.filled(pool)
	for _, box := range ready {
		if still := w.sandbox(box.Name); still.UID != box.UID {
			t.Errorf("the ready member %s was deleted", box.Name)
		}
	}
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 0 })
	w.filled(pool)
	if len(w.sandboxes(nil)) != 0 {
		t.Errorf("status %s", asJSON(pool.Status))
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
	w.must("reading the pool as it is stored", w.user.Get(context.Background(), client.ObjectKeyFromObject(pool), stored))
	for _, field := range []string{"replicas", "readyReplicas", "updatedReadyReplicas"} {
		if count, there, err := unstructured.NestedInt64(stored.Object, "status", field); !there || count != 0 || err != nil {
			t.Errorf("%s is there: %v, with %d, error %v", field, there, count, err)
		}
	}
}

// tell writes a condition of a member, as the core would.
func (w world) tell(box *sandboxv1beta1.Sandbox, conditions ...metav1.Condition) {
	w.t.Helper()
	for i := range conditions {
		conditions[i].ObservedGeneration, conditions[i].LastTransitionTime = box.Generation, metav1.Now()
	}
	body, err := apply.Status(box.UID, box.Status, sandboxv1beta1.SandboxStatus{Conditions: conditions})
	w.must("encoding a status", err)
	w.must("telling of a member", w.user.Status().Patch(context.Background(), box, client.RawPatch(types.JSONPatchType, body)))
}

// A4.2: members that find no node are kept, and the pool says why it does not grow.
func TestAPoolThatFindsNoNodeWaits(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.Grace = time.Second
	w.startControllers(settings)
	w.template("agent", func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: "yes"}
	})
	pool := w.pool("pool", 1, func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.ReadinessGracePeriodSeconds = nil })
	var member *sandboxv1beta1.Sandbox
	testkit.Eventually(t, "the pool has a member", func() error {
		boxes := w.sandboxes(nil)
		if len(boxes) != 1 {
			return fmt.Errorf("%d Sandboxes", len(boxes))
		}
		member = &boxes[0]
		return nil
	})
	w.tell(member,
		metav1.Condition{Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: sandboxv1beta1.ReasonDependenciesNotReady, Message: "Pod is pending"},
		metav1.Condition{Type: sandboxv1beta1.ConditionPodScheduled, Status: metav1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"})
	testkit.Eventually(t, "the pool says that it does not progress", func() error {
		w.get(pool)
		told := meta.FindStatusCondition(pool.Status.Conditions, extensionsv1beta1.ConditionProgressing)
		if told == nil || told.Status != metav1.ConditionFalse || told.Reason != extensionsv1beta1.ReasonWarmPoolNotProgressing || told.Message != "Unschedulable: 0/3 nodes are available" {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
	w.awaitEvent(corev1.EventTypeWarning, extensionsv1beta1.ReasonWarmPoolNotProgressing, "0/3 nodes are available")
	testkit.Throughout(t, 3*time.Second, "the member stays past its time", func() error {
		if box := w.sandbox(member.Name); box.UID != member.UID || box.DeletionTimestamp != nil {
			return fmt.Errorf("it was replaced by %s", box.UID)
		}
		return nil
	})
}

// A4.3: a member that never becomes Ready is replaced when its time is over, though nothing else happens.
func TestAMemberThatIsStuckIsReplaced(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.Grace = 2 * time.Second
	w.startControllers(settings)
	w.template("agent", func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: "yes"}
	})
	w.pool("pool", 1)
	var first types.UID
	testkit.Eventually(t, "the member is another", func() error {
		boxes := w.sandboxes(nil)
		if len(boxes) == 1 && first == "" {
			first = boxes[0].UID
		}
		if len(boxes) != 1 || boxes[0].UID == first {
			return fmt.Errorf("%d Sandboxes", len(boxes))
		}
		return nil
	})
}

// A4.4: a member that somebody deletes is made up for at once.
func TestADeletedMemberIsReplacedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 3)
	w.filled(pool)
	gone := w.sandboxes(nil)[0]
	w.must("deleting a member", w.user.Delete(context.Background(), &gone))
	testkit.Eventually(t, "the pool is full again", func() error {
		boxes := w.sandboxes(nil)
		err := w.user.Get(context.Background(), client.ObjectKeyFromObject(&gone), &sandboxv1beta1.Sandbox{})
		if len(boxes) != 3 || !apierrors.IsNotFound(err) {
			return fmt.Errorf("%d Sandboxes", len(boxes))
		}
		return nil
	})
}

// A4.12: under Recreate stale members go at once, under OnReplenish as they are taken.
func TestATemplateIsRolledOut(t *testing.T) {
	for _, strategy := range []extensionsv1beta1.UpdateStrategyType{extensionsv1beta1.UpdateStrategyRecreate, extensionsv1beta1.UpdateStrategyOnReplenish} {
		t.Run(string(strategy), func(t *testing.T) {
			w := newWorld(t)
			w.startControllers(testSettings())
			w.template("agent")
			pool := w.pool("pool", 2, func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.UpdateStrategy.Type = strategy })
			w.filled(pool)
			template := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}}
			edit(w, template, func(t *extensionsv1beta1.SandboxTemplate) { t.Spec.PodTemplate.Spec.Containers[0].Image = "image:2" })
			updated := int32(0)
			if strategy == extensionsv1beta1.UpdateStrategyRecreate {
				updated = 2
			}
			testkit.Eventually(t, "the pool counts its members", func() error {
				if w.get(pool); pool.Status.UpdatedReadyReplicas != updated || pool.Status.ReadyReplicas != 2 {
					return fmt.Errorf("status %s", asJSON(pool.Status))
				}
				return nil
			})
			box := w.bound(w.claim("claim"))
			want := map[extensionsv1beta1.UpdateStrategyType]string{
				extensionsv1beta1.UpdateStrategyRecreate: "image:2", extensionsv1beta1.UpdateStrategyOnReplenish: "image:1",
			}[strategy]
			if image := box.Spec.PodTemplate.Spec.Containers[0].Image; image != want {
				t.Errorf("the claim got image %s", image)
			}
		})
	}
}

// A3.7, A3.8, A3.11: a node that is cordoned gives no member to a claim.
func TestAMemberOnACordonedNodeIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 1)
	w.filled(pool)
	member := w.sandboxes(nil)[0]
	w.node(cordoned)
	testkit.Eventually(t, "a claim starts cold", func() error {
		name := fmt.Sprintf("claim-%d", time.Now().UnixNano())
		if box := w.bound(w.claim(name)); box.Name != name {
			return fmt.Errorf("it took %s of %s", box.Name, member.Name)
		}
		return nil
	})
}
