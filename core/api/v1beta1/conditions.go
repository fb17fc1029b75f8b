package v1beta1

// Condition types of a Sandbox.
const (
	// ConditionReady is True while the Sandbox can be used. Always present.
	ConditionReady = "Ready"
	// ConditionSuspended is True once the Pod of a suspended Sandbox is gone. Always present.
	ConditionSuspended = "Suspended"
	// ConditionPodScheduled mirrors the Pod's own condition. Absent without a Pod.
	ConditionPodScheduled = "PodScheduled"
	// ConditionFinished is True once the Pod has ended. Absent before.
	ConditionFinished = "Finished"
	// ConditionPodTemplateDrifted is True while the running Pod differs from the podTemplate. Absent otherwise.
	ConditionPodTemplateDrifted = "PodTemplateDrifted"
	// ConditionPodRecreating is True while a failed Pod waits to be replaced. Absent otherwise.
	ConditionPodRecreating = "PodRecreating"
)

// Reasons of the condition Ready.
const (
	// ReasonDependenciesReady : Pod and, where required, Service are there and ready.
	ReasonDependenciesReady = "DependenciesReady"
	// ReasonDependenciesNotReady : something is still missing; the message says what.
	ReasonDependenciesNotReady = "DependenciesNotReady"
	// ReasonSandboxSuspended : operatingMode is Suspended.
	ReasonSandboxSuspended = "SandboxSuspended"
	// ReasonSandboxExpired : shutdownTime has come.
	ReasonSandboxExpired = "SandboxExpired"
	// ReasonMultiplePods : more than one Pod is controlled by the Sandbox.
	ReasonMultiplePods = "MultiplePods"
	// ReasonInvalidConfiguration : the API server refuses a child for ever; nothing is retried until the spec changes.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonQuotaExceeded : a ResourceQuota or LimitRange stands in the way.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonRuntimeClassNotFound : the RuntimeClass of the Pod does not exist.
	ReasonRuntimeClassNotFound = "RuntimeClassNotFound"
	// ReasonReconcilerError : any other failure.
	ReasonReconcilerError = "ReconcilerError"
)

// Reasons of the conditions Ready and Finished once the Pod has ended.
const (
	// ReasonPodSucceeded : the Pod reached the phase Succeeded.
	ReasonPodSucceeded = "PodSucceeded"
	// ReasonPodFailed : the Pod reached the phase Failed.
	ReasonPodFailed = "PodFailed"
)

// Reasons of the condition Suspended.
const (
	// ReasonPodTerminated : the Pod is gone.
	ReasonPodTerminated = "PodTerminated"
	// ReasonPodTerminating : the Pod is being deleted.
	ReasonPodTerminating = "PodTerminating"
	// ReasonPodNotOwned : a Pod of the Sandbox's name exists that is not the Sandbox's.
	ReasonPodNotOwned = "PodNotOwned"
	// ReasonNotSuspended : operatingMode is Running.
	ReasonNotSuspended = "NotSuspended"
	// ReasonPodStateUnknown : the Pod could not be read.
	ReasonPodStateUnknown = "PodStateUnknown"
)

// Reasons of the condition PodScheduled that do not come from the Pod.
const (
	// ReasonPodScheduled : the Pod is scheduled and gave no reason of its own.
	ReasonPodScheduled = "PodScheduled"
	// ReasonPodSchedulingUnknown : the Pod has not reported, gave no reason, or could not be read.
	ReasonPodSchedulingUnknown = "PodSchedulingUnknown"
)

// Reasons of the condition PodRecreating.
const (
	// ReasonBackingOff : the Pod failed, and the pause before its successor is not over; the message says when it is.
	ReasonBackingOff = "BackingOff"
)

// Reasons of the condition PodTemplateDrifted.
const (
	// ReasonPodSpecChanged : podTemplate.spec is not what the running Pod was made from; suspending and resuming applies it.
	ReasonPodSpecChanged = "PodSpecChanged"
)

// Reasons of the Events of a Sandbox. MultiplePods, PodSucceeded, PodFailed and SandboxExpired share their
// names with the condition reasons above.
const (
	// EventSandboxPodCreated : the Pod was created.
	EventSandboxPodCreated = "SandboxPodCreated"
	// EventSandboxPodCreateFailed : the API server refused the Pod.
	EventSandboxPodCreateFailed = "SandboxPodCreateFailed"
	// EventSandboxReconcileFailed : something else than the Pod's creation failed, as that of the Service or the Pod's deletion.
	EventSandboxReconcileFailed = "SandboxReconcileFailed"
	// EventSandboxPodUnschedulable : the Pod finds no node, or is not to be scheduled yet.
	EventSandboxPodUnschedulable = "SandboxPodUnschedulable"
	// EventSandboxReady : the Sandbox became Ready.
	EventSandboxReady = "SandboxReady"
	// EventSandboxSuspended : the Pod of a suspended Sandbox is gone.
	EventSandboxSuspended = "SandboxSuspended"
	// EventSandboxResumed : a suspended Sandbox was set to Running.
	EventSandboxResumed = "SandboxResumed"
)
