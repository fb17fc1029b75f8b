package claim

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
)

// patience is how long from its creation a claim waits for members of its pool that lack nothing but an IP.
const patience = 2 * time.Second

// decide returns what is to be done about a claim that is not being deleted.
func decide(s seen) plan {
	if s.expired() {
		return expiryPlan(s)
	}
	var p plan
	switch {
	case s.published() != nil:
		p.discard = discardExtra(s, s.published())
		p.relabel = relabel(s, s.published())
	case s.publishable() != nil:
		// The others wait until this one is published: until then, another may be.
		p.again = len(s.owned) > 1
	default:
		p = acquire(s)
	}
	if at, ok := expiry(s.claim.Spec.Lifecycle, s.claim.Status.Conditions); ok {
		p.wakeWithin(at.Sub(s.now))
	}
	return p
}

// acquire gets the claim a Sandbox. One that it said it will delete, or that is not of its pool, and that stands yet, goes first.
func acquire(s seen) plan {
	if of := living(s); of != nil {
		return plan{discard: discardOf(s, of)}
	}
	if refused := obstacle(s); refused != nil {
		return plan{refused: refused}
	}
	if denied := s.domains.CheckMetadata(s.claim.Spec.AdditionalPodMetadata, s.template.Spec.PodTemplate.Metadata); denied != nil {
		return plan{refused: &refusal{denied.Reason, denied.Message}}
	}
	template, denied := blueprint.Grant(s.template, s.claim)
	if denied != nil {
		return plan{refused: &refusal{denied.Reason, denied.Message}}
	}
	why := coldStartReason(s)
	cold := desiredSandbox(s, template, why)
	if why != extensionsv1beta1.ReasonWarmPoolEmpty {
		return plan{create: cold}
	}
	p := plan{create: cold, take: &taking{
		pool: s.pool.UID, namespace: s.pool.Namespace,
		freshOnly: s.pool.Spec.UpdateStrategy.Type == extensionsv1beta1.UpdateStrategyRecreate,
	}}
	if left := s.claim.CreationTimestamp.Add(patience).Sub(s.now); s.comesSoon && left > 0 {
		p.create = nil
		p.wakeWithin(left)
	}
	return p
}

// obstacle is what stands between the claim and any Sandbox.
func obstacle(s seen) *refusal {
	switch {
	case s.pool == nil:
		return &refusal{extensionsv1beta1.ReasonWarmPoolNotFound, fmt.Sprintf("SandboxWarmPool %q not found", s.claim.Spec.WarmPoolRef.Name)}
	case s.pool.DeletionTimestamp != nil:
		return &refusal{extensionsv1beta1.ReasonWarmPoolNotFound, fmt.Sprintf("SandboxWarmPool %q is being deleted", s.pool.Name)}
	case s.template == nil:
		return &refusal{extensionsv1beta1.ReasonTemplateNotFound, fmt.Sprintf("SandboxTemplate %q of SandboxWarmPool %q not found",
			s.pool.Spec.SandboxTemplateRef.Name, s.pool.Name)}
	}
	return nil
}

// living is a Sandbox of a claim that has published none, and is not to publish this one, which nobody has deleted.
func living(s seen) *sandboxv1beta1.Sandbox {
	for _, sandbox := range s.owned {
		if sandbox.DeletionTimestamp == nil {
			return sandbox
		}
	}
	return nil
}

// discardExtra is the next Sandbox of the claim to go that is not the one to keep. The one that the claim has named already is
// first: naming another would let it be published again.
func discardExtra(s seen, keep *sandboxv1beta1.Sandbox) *discard {
	var next *sandboxv1beta1.Sandbox
	for _, sandbox := range s.owned {
		if sandbox == keep || sandbox.DeletionTimestamp != nil {
			continue
		}
		if sandbox.UID == s.discarding() {
			return discardOf(s, sandbox)
		}
		if next == nil {
			next = sandbox
		}
	}
	if next == nil {
		return nil
	}
	return discardOf(s, next)
}

func discardOf(s seen, sandbox *sandboxv1beta1.Sandbox) *discard {
	return &discard{target: targetOf(sandbox), fenced: sandbox.UID == s.discarding()}
}

func targetOf(obj metav1.Object) target {
	return target{name: obj.GetName(), uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion()}
}

// expiryPlan deletes nothing before the claim has told that it expired. Its Sandboxes go one by one; with a policy that
// deletes the claim, its owner references take them along.
func expiryPlan(s seen) plan {
	if !s.expiryStored() {
		return plan{again: true}
	}
	switch ptr.Deref(s.claim.Spec.Lifecycle, extensionsv1beta1.Lifecycle{}).ShutdownPolicy {
	case extensionsv1beta1.ShutdownPolicyDelete:
		return plan{remove: &removal{targetOf(s.claim), metav1.DeletePropagationBackground}}
	case extensionsv1beta1.ShutdownPolicyDeleteForeground:
		return plan{remove: &removal{targetOf(s.claim), metav1.DeletePropagationForeground}}
	default:
		p := plan{discard: discardExtra(s, nil)}
		p.again = p.discard != nil && len(s.owned) > 1
		return p
	}
}

// desiredSandbox is what the claim starts where no pool has one for it, for that reason, from the template with what the claim adds
// to it.
func desiredSandbox(s seen, template *extensionsv1beta1.SandboxTemplate, why string) *sandboxv1beta1.Sandbox {
	claim := s.claim
	labels := map[string]string{
		sandboxv1beta1.LabelClaimUID:   string(claim.UID),
		sandboxv1beta1.LabelLaunchType: sandboxv1beta1.LaunchTypeCold,
	}
	if creator := blueprint.CreatedBy(claim); creator != "" {
		labels[sandboxv1beta1.LabelCreatedBy] = creator
	}
	more := added(template.Spec.PodTemplate.Metadata, claim.Spec.AdditionalPodMetadata)
	annotations := map[string]string{
		extensionsv1beta1.AnnotationColdStartReason: why, extensionsv1beta1.AnnotationWarmPoolRef: claim.Spec.WarmPoolRef.Name,
	}
	if s.trace != "" {
		annotations[sandboxv1beta1.AnnotationTraceContext] = s.trace
	}
	maps.Copy(annotations, more.record())
	sandbox := blueprint.Sandbox(template, blueprint.Origin{Name: claim.Name, Owner: controllerRef(claim), Labels: labels, Annotations: annotations})
	sandbox.Spec.PodTemplate.Metadata = more.metadata
	return sandbox
}

func controllerRef(claim *extensionsv1beta1.SandboxClaim) metav1.OwnerReference {
	return *metav1.NewControllerRef(claim, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind))
}
