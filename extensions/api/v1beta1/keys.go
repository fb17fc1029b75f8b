package v1beta1

import sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"

// Labels of Sandboxes that only the extensions read.
const (
	// LabelTemplateHash holds the fingerprint of the blueprint that a member of a pool was built from.
	LabelTemplateHash = sandboxv1beta1.KeyPrefix + "sandbox-template-hash"
	// LabelPodTemplateHash is what older releases had in its place.
	LabelPodTemplateHash = sandboxv1beta1.KeyPrefix + "sandbox-pod-template-hash"
)

// Annotations of claims.
const (
	// AnnotationDiscarding holds the UID of a Sandbox that is about to be deleted, since the claim has another: it is never
	// published.
	AnnotationDiscarding = sandboxv1beta1.KeyPrefix + "discarding"
	// AnnotationSandboxName names the Sandbox that was assigned.
	AnnotationSandboxName = sandboxv1beta1.KeyPrefix + "sandbox-name"
	// AnnotationFirstObservedAt is when the controller saw the claim first, as RFC 3339 with nanoseconds.
	AnnotationFirstObservedAt = sandboxv1beta1.KeyPrefix + "controller-first-observed-at"
	// AnnotationWebhookObservedAt is when a webhook saw the claim first, likewise; nothing of ours sets it.
	AnnotationWebhookObservedAt = sandboxv1beta1.KeyPrefix + "webhook-first-observed-at"
	// AnnotationClientRequestedAt is when a client asked for the claim, likewise; clients set it.
	AnnotationClientRequestedAt = sandboxv1beta1.KeyPrefix + "client-first-requested-at"
)

// Annotations of Sandboxes that only the extensions read.
const (
	// AnnotationWarmPoolRef names the pool that a Sandbox was made in, or whose claim it was started for.
	AnnotationWarmPoolRef = sandboxv1beta1.KeyPrefix + "warm-pool-ref"
	// AnnotationColdStartReason is why it was started for its claim: a reason of the claim's condition ColdStart.
	AnnotationColdStartReason = sandboxv1beta1.KeyPrefix + "cold-start-reason"
)
