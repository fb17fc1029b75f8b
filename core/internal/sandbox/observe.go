package sandbox

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

// podsByController is the cache index of Pods by the UID of the Sandbox that controls them.
const podsByController = "sandbox-controller-uid"

// seen is what one reconcile knows. Nil means absent.
type seen struct {
	now     time.Time
	sandbox *sandboxv1beta1.Sandbox
	// pods are those that this Sandbox controls, whatever their names.
	pods []*corev1.Pod
	// foreignPod has the Sandbox's name and another controller, or none.
	foreignPod *corev1.Pod
	// claims are PersistentVolumeClaims of the names that the templates give, by name, whosoever they are.
	claims map[string]*corev1.PersistentVolumeClaim
	// service has the Sandbox's name, whosoever it is.
	service *corev1.Service
	// specHash is the fingerprint of podTemplate.spec.
	specHash string
	// podsUnknown says that the Pods could not be read.
	podsUnknown bool
	// podsStay says that a Pod was to be deleted and could not be.
	podsStay bool
	// podNameStands says that the Pod that the Sandbox's annotation names exists, whosoever it is.
	podNameStands bool
	// around is read only for a Sandbox whose status says that an obstacle blocks it.
	around *surroundings
	// nextTry is how long what an obstacle blocks is not tried for as long as it is seen to stand.
	nextTry time.Duration
	// holdMetadata is how long a patch of the Pod's metadata is held back.
	holdMetadata time.Duration
	// missingClasses are the StorageClasses that claims of a Pod without a node name and that do not exist, by claim.
	missingClasses map[string]string
}

// observe reads everything that a decision about the Sandbox rests on, from the cache. Reads by name wait until the
// cache has caught up with this process's own writes of that name. On an error what was read is returned with it.
func (r *Reconciler) observe(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (seen, error) {
	s := seen{now: r.clock.Now(), sandbox: sandbox, claims: map[string]*corev1.PersistentVolumeClaim{}, missingClasses: map[string]string{}}
	var err error
	if s.specHash, err = names.Fingerprint(&sandbox.Spec.PodTemplate.Spec); err != nil {
		return s, err
	}
	if err := r.observePods(ctx, &s); err != nil {
		s.podsUnknown = true
		return s, err
	}
	for i := range sandbox.Spec.VolumeClaimTemplates {
		claim := &corev1.PersistentVolumeClaim{}
		name := claimName(sandbox.Spec.VolumeClaimTemplates[i], sandbox)
		found, err := consistency.Find(ctx, r.client, types.NamespacedName{Namespace: sandbox.Namespace, Name: name}, claim)
		if err != nil {
			return s, fmt.Errorf("reading PersistentVolumeClaim %q: %w", name, err)
		}
		if found {
			s.claims[name] = claim
		}
	}
	s.holdMetadata = r.holdMetadata(s)
	service := &corev1.Service{}
	found, err := consistency.Find(ctx, r.client, client.ObjectKeyFromObject(sandbox), service)
	if err != nil {
		return s, fmt.Errorf("reading Service %q: %w", sandbox.Name, err)
	}
	if found {
		s.service = service
	}
	if err := r.observeStorageClasses(ctx, &s); err != nil {
		return s, err
	}
	return s, r.observeObstacle(ctx, &s)
}

// observePods reads the Pod of the Sandbox's name first, since that read waits for this process's own writes of it;
// the list by owner, from the same cache, then shows them too.
func (r *Reconciler) observePods(ctx context.Context, s *seen) error {
	named := &corev1.Pod{}
	found, err := consistency.Find(ctx, r.client, client.ObjectKeyFromObject(s.sandbox), named)
	if err != nil {
		return fmt.Errorf("reading Pod %q: %w", s.sandbox.Name, err)
	}
	if found && !isOurs(named, s.sandbox) {
		s.foreignPod = named
	}
	if name := s.sandbox.Annotations[sandboxv1beta1.AnnotationPodName]; name != "" && name != s.sandbox.Name {
		if s.podNameStands, err = consistency.Find(ctx, r.client, types.NamespacedName{Namespace: s.sandbox.Namespace, Name: name}, &corev1.Pod{}); err != nil {
			return fmt.Errorf("reading Pod %q, which annotation %s names: %w", name, sandboxv1beta1.AnnotationPodName, err)
		}
	}
	var owned corev1.PodList
	err = r.client.List(ctx, &owned, client.InNamespace(s.sandbox.Namespace),
		client.MatchingFields{podsByController: string(s.sandbox.UID)},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("listing the Pods of Sandbox %q: %w", s.sandbox.Name, err)
	}
	for i := range owned.Items {
		s.pods = append(s.pods, &owned.Items[i])
	}
	return nil
}

// holdMetadata is how much longer a change of the Pod's metadata waits for further ones.
func (r *Reconciler) holdMetadata(s seen) time.Duration {
	key := client.ObjectKeyFromObject(s.sandbox)
	if pod := s.pod(); r.writeBehindWindow == 0 || pod == nil || driftOf(pod, s) == nil {
		r.writeBehind.Forget(key)
		return 0
	}
	hold := r.writeBehind.Hold(key, s.now, r.writeBehindWindow)
	if hold == 0 {
		r.writeBehind.Forget(key)
	}
	return hold
}

// pod is the one Pod of the Sandbox; nil when there is none, or more than one.
func (s seen) pod() *corev1.Pod {
	if len(s.pods) == 1 {
		return s.pods[0]
	}
	return nil
}

func (s seen) expired() bool {
	at := s.sandbox.Spec.ShutdownTime
	return at != nil && !s.now.Before(at.Time)
}

func (s seen) suspended() bool {
	return s.sandbox.Spec.OperatingMode == sandboxv1beta1.OperatingModeSuspended
}
