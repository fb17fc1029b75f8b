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
	// AnnotationTraceContext carries the W3C trace context of the request that made an object, as JSON.
	AnnotationTraceContext = "opentelemetry.io/trace-context"
)
