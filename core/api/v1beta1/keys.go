package v1beta1

// Prefixes of the label and annotation keys that are the system's: from users' metadata they are dropped.
const (
	// KeyPrefix is the prefix of the core's keys.
	KeyPrefix = GroupName + "/"
	// ExtensionsKeyPrefix is the prefix of the extensions' keys.
	ExtensionsKeyPrefix = ExtensionsGroupName + "/"
)

// Labels.
const (
	// LabelSandboxNameHash holds the name hash of the Sandbox on its Pod, PVCs and Service. It is an index, never a
	// proof of ownership.
	LabelSandboxNameHash = KeyPrefix + "sandbox-name-hash"
	// LabelSandboxUID holds the UID of the Sandbox on its Pod; the Service selects by it.
	LabelSandboxUID = KeyPrefix + "sandbox-uid"
	// LabelAdoptable with the value "true" lets a Sandbox of fitting name take over an object that has no controller.
	LabelAdoptable = KeyPrefix + "adoptable"
	// LabelCreatedBy says which client made a Sandbox. Its Pod carries it as one of the values below.
	LabelCreatedBy = KeyPrefix + "created-by"
	// LabelLaunchType says how a claim got its Sandbox: LaunchTypeWarm or LaunchTypeCold.
	LabelLaunchType = KeyPrefix + "launch-type"
	// LabelTemplateRefHash holds the name hash of the template that a Sandbox was made from.
	LabelTemplateRefHash = KeyPrefix + "sandbox-template-ref-hash"
	// LabelTemplateRef holds 32 hex digits of the SHA-256 of that template's name: no two names share it.
	LabelTemplateRef = KeyPrefix + "sandbox-template-ref"
	// LabelWarmPool holds the name hash of the pool that owns a Sandbox.
	LabelWarmPool = KeyPrefix + "warm-pool-sandbox"
	// LabelClaimUID holds the UID of the claim that owns a Sandbox.
	LabelClaimUID = KeyPrefix + "claim-uid"
)

// Values of LabelCreatedBy; any other reads as CreatedByUnknown.
const (
	// CreatedByGoClient : the SDK for Go.
	CreatedByGoClient = "go-client"
	// CreatedByPythonClient : the SDK for Python.
	CreatedByPythonClient = "python-client"
	// CreatedByController : a warm pool.
	CreatedByController = "controller"
	// CreatedByUnknown : anything else.
	CreatedByUnknown = "unknown"
)

// Values of LabelLaunchType; any other, and none, reads as LaunchTypeUnknown.
const (
	// LaunchTypeWarm : the Sandbox is of a pool, or was taken from one.
	LaunchTypeWarm = "warm"
	// LaunchTypeCold : the Sandbox was started for its claim.
	LaunchTypeCold = "cold"
	// LaunchTypeUnknown : neither is known.
	LaunchTypeUnknown = "unknown"
)

// Kinds of the extensions' group that own Sandboxes.
const (
	// ClaimKind is a user's claim to a Sandbox.
	ClaimKind = "SandboxClaim"
	// WarmPoolKind is a pool of Sandboxes that wait for claims.
	WarmPoolKind = "SandboxWarmPool"
)

// Annotations.
const (
	// AnnotationPodName names the Pod of a Sandbox for clients of older releases.
	AnnotationPodName = KeyPrefix + "pod-name"
	// AnnotationPropagatedLabels lists, on the Pod, the label keys taken from the template: sorted, comma-joined.
	AnnotationPropagatedLabels = KeyPrefix + "propagated-labels"
	// AnnotationPropagatedAnnotations lists, on the Pod, the annotation keys taken from the template: sorted, comma-joined.
	AnnotationPropagatedAnnotations = KeyPrefix + "propagated-annotations"
	// AnnotationPodSpecHash holds, on the Pod, the hash of the podTemplate.spec that it was made from.
	AnnotationPodSpecHash = KeyPrefix + "pod-spec-hash"
	// AnnotationPodFailures counts, on the Pod, the Pods that failed in a row before it, under podFailurePolicy Recreate.
	AnnotationPodFailures = KeyPrefix + "pod-failures"
	// AnnotationTemplateRef names the template that a Sandbox was made from.
	AnnotationTemplateRef = KeyPrefix + "sandbox-template-ref"
	// AnnotationTraceContext carries the W3C trace context of the request that made an object, as JSON.
	AnnotationTraceContext = "opentelemetry.io/trace-context"
	// AnnotationSafeToEvict with the value "true" lets the cluster autoscaler remove the node of a Pod. On a Sandbox that a
	// pool controls it is for its Pod, unless the podTemplate has the annotation itself.
	AnnotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)
