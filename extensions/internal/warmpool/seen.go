package warmpool

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
)

// seen is what one pass knows. Nil means absent.
type seen struct {
	now  time.Time
	pool *extensionsv1beta1.SandboxWarmPool
	// template is what members are built from, templateHash that of its blueprint.
	template     *extensionsv1beta1.SandboxTemplate
	templateHash string
	// members are the Sandboxes that the pool controls, those on their way out included.
	members []*sandboxv1beta1.Sandbox
	// closed are the members that are Ready on a node that nobody is handed out from, cordoned or lost, and since when.
	closed map[types.UID]time.Time
	// arrived is when a member that is built from the template as it is now became Ready last, as far as events told; zero when none
	// did. A claim may have it by now.
	arrived time.Time
	// pending are the names of members whose creation nobody has answered for and that are not among members.
	pending []string
	// orphans are the names of Sandboxes that carry the pool's label and that nobody controls, sorted. Anybody can make such a one:
	// it is never taken in.
	orphans []string
	// waiting is how many claims of this pool have no Sandbox yet.
	waiting int
	// available is how many members can be taken now.
	available int
	// yielded is how much longer a refill gives way to claims.
	yielded time.Duration
	// tokens is how many members may be made now, nextToken how long until one more may be.
	tokens    int
	nextToken time.Duration
	// held is how many of the members that are missing are not to be made yet, heldFor for how much longer.
	held    int
	heldFor time.Duration
}

func (s seen) replicas() int { return int(ptr.Deref(s.pool.Spec.Replicas, 1)) }

// population is every Sandbox of the pool that exists, or that may.
func (s seen) population() int { return len(s.members) + len(s.pending) }

// standing are the members that nobody has deleted.
func (s seen) standing() []*sandboxv1beta1.Sandbox {
	var standing []*sandboxv1beta1.Sandbox
	for _, member := range s.members {
		if member.DeletionTimestamp == nil {
			standing = append(standing, member)
		}
	}
	return standing
}

func (s seen) isFresh(member *sandboxv1beta1.Sandbox) bool {
	return s.template == nil || blueprint.IsFresh(member, s.template, s.templateHash)
}

// grace is how long a member may take to become Ready.
func (s seen) grace(limits Limits) time.Duration {
	if own := s.pool.Spec.ReadinessGracePeriodSeconds; own != nil {
		return time.Duration(*own) * time.Second
	}
	return limits.Grace
}

// left is how long a member that serves nobody still has until it is given up.
func (s seen) left(member *sandboxv1beta1.Sandbox, limits Limits) time.Duration {
	grace := s.grace(limits)
	since, closed := s.closed[member.UID]
	if !closed {
		since = unreadySince(member)
	}
	return since.Add(grace + jitter(member.UID, grace)).Sub(s.now)
}

// isHeld says whether a member that is not Ready is kept all the same: another would find no node either, or waits at the same
// gate, or would be refused for the same reason, or meet the same quota.
func isHeld(member *sandboxv1beta1.Sandbox) bool {
	if isStarted(member) {
		return false
	}
	scheduled := meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionPodScheduled)
	return scheduled != nil && scheduled.Status == metav1.ConditionFalse || isRefused(member) || isBlocked(member)
}

// isBlocked says whether a member has no Pod for a reason outside of it, whose end brings the Pod.
func isBlocked(member *sandboxv1beta1.Sandbox) bool {
	ready := meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionReady)
	return ready != nil && (ready.Reason == sandboxv1beta1.ReasonQuotaExceeded || ready.Reason == sandboxv1beta1.ReasonRuntimeClassNotFound)
}

// isRefused says whether the API server refuses the Pod of a member for ever.
func isRefused(member *sandboxv1beta1.Sandbox) bool {
	ready := meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionReady)
	return ready != nil && ready.Reason == sandboxv1beta1.ReasonInvalidConfiguration
}

// isStarted says whether a member has become Ready, wherever that is.
func isStarted(member *sandboxv1beta1.Sandbox) bool { return candidates.IsCandidate(member) }

// readySince is when a member that has become Ready did so.
func readySince(member *sandboxv1beta1.Sandbox) time.Time {
	return meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionReady).LastTransitionTime.Time
}

// isAdmitted says whether a member may be handed out as far as its node goes.
func isAdmitted(member *sandboxv1beta1.Sandbox, members Members) bool {
	return members.Admits(member.Status.NodeName, member.Spec.PodTemplate.Spec.Tolerations)
}

// isReady says whether a member can serve a claim.
func (s seen) isReady(member *sandboxv1beta1.Sandbox) bool {
	_, closed := s.closed[member.UID]
	return !closed && isStarted(member)
}

// findsNoRoom says whether a member is held that is built as one would be that is made now: that one would be held, too.
func (s seen) findsNoRoom() bool {
	return slices.ContainsFunc(s.standing(), func(m *sandboxv1beta1.Sandbox) bool { return isHeld(m) && s.isFresh(m) })
}

// unreadySince is when a member that is not Ready has ceased to be, or was made.
func unreadySince(member *sandboxv1beta1.Sandbox) time.Time {
	since := member.CreationTimestamp.Time
	ready := meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionReady)
	if ready != nil && ready.LastTransitionTime.After(since) {
		since = ready.LastTransitionTime.Time
	}
	return since
}
