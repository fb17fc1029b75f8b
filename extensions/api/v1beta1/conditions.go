package v1beta1

// Condition types.
const (
	// ConditionReady of a claim is that of its Sandbox; of a template, whether its NetworkPolicy is as it wants it. Always present.
	ConditionReady = "Ready"
	// ConditionFinished of a claim is that of its Sandbox. It outlives the Sandbox.
	ConditionFinished = "Finished"
	// ConditionColdStart of a claim is True where its Sandbox was started for it instead of taken from its pool, and says why; absent
	// otherwise.
	ConditionColdStart = "ColdStart"
	// ConditionProgressing of a pool says whether it comes nearer to its replicas.
	ConditionProgressing = "Progressing"
	// ConditionRouterReachable of a template says whether its NetworkPolicy can let the router in; absent where none is kept.
	ConditionRouterReachable = "RouterReachable"
)

// Reasons of a claim's condition Ready, beside those of its Sandbox. Clients give up at once on InvalidMetadata,
// EnvVarsInjectionRejected, VolumeClaimTemplatesError, ClaimExpired and SandboxExpired: they never stand for what passes.
const (
	// ReasonWarmPoolNotFound : the pool does not exist.
	ReasonWarmPoolNotFound = "WarmPoolNotFound"
	// ReasonTemplateNotFound : the template of the pool does not exist.
	ReasonTemplateNotFound = "TemplateNotFound"
	// ReasonInvalidMetadata : additionalPodMetadata is refused.
	ReasonInvalidMetadata = "InvalidMetadata"
	// ReasonEnvVarsInjectionRejected : env is refused.
	ReasonEnvVarsInjectionRejected = "EnvVarsInjectionRejected"
	// ReasonVolumeClaimTemplatesError : volumeClaimTemplates are refused.
	ReasonVolumeClaimTemplatesError = "VolumeClaimTemplatesError"
	// ReasonSandboxMissing : the Sandbox does not exist.
	ReasonSandboxMissing = "SandboxMissing"
	// ReasonSandboxNotReady : the Sandbox has not said anything about itself yet, or is being deleted.
	ReasonSandboxNotReady = "SandboxNotReady"
	// ReasonSandboxExpired : the Sandbox expired by a time of its own.
	ReasonSandboxExpired = "SandboxExpired"
	// ReasonClaimExpired : the claim has expired.
	ReasonClaimExpired = "ClaimExpired"
	// ReasonAdoptionConflict : a Sandbox that the claim needs belongs to somebody else.
	ReasonAdoptionConflict = "AdoptionConflict"
	// ReasonSandboxCreatePending : the Sandbox was made and the caches have yet to show it.
	ReasonSandboxCreatePending = "SandboxCreatePending"
	// ReasonReconcilerError : any other failure.
	ReasonReconcilerError = "ReconcilerError"
)

// Reasons of a claim's condition ColdStart.
const (
	// ReasonEnvRequested : the claim sets variables, which a Pod that runs cannot be given.
	ReasonEnvRequested = "EnvRequested"
	// ReasonVolumesRequested : the claim asks for disks, which a Pod that runs cannot be given.
	ReasonVolumesRequested = "VolumesRequested"
	// ReasonWarmPoolSizeZero : the pool is to have no members.
	ReasonWarmPoolSizeZero = "WarmPoolSizeZero"
	// ReasonWarmPoolEmpty : no member of the pool could be taken.
	ReasonWarmPoolEmpty = "WarmPoolEmpty"
)

// Reasons of a pool's condition Progressing, and of its Events.
const (
	// ReasonWarmPoolProgressing : the pool has its replicas or comes nearer to them.
	ReasonWarmPoolProgressing = "WarmPoolProgressing"
	// ReasonWarmPoolNotProgressing : members find no node, are not to be scheduled yet, or are refused.
	ReasonWarmPoolNotProgressing = "WarmPoolNotProgressing"
	// ReasonSandboxTemplateError : the template does not exist, or members made from it are refused.
	ReasonSandboxTemplateError = "SandboxTemplateError"
)

// Reasons of a template's conditions Ready and RouterReachable, and of its Events.
const (
	// ReasonNetworkPolicyApplied : the NetworkPolicy is in step with the template.
	ReasonNetworkPolicyApplied = "NetworkPolicyApplied"
	// ReasonNetworkPolicyUnmanaged : the template asks for none.
	ReasonNetworkPolicyUnmanaged = "NetworkPolicyUnmanaged"
	// ReasonNetworkPolicyConflict : a NetworkPolicy of that name is somebody else's.
	ReasonNetworkPolicyConflict = "NetworkPolicyConflict"
	// ReasonNetworkPolicyTerminating : a NetworkPolicy of that name is on its way out.
	ReasonNetworkPolicyTerminating = "NetworkPolicyTerminating"
	// ReasonNetworkPolicyInvalid : the API server refuses the rules of the template; those hold that it took last.
	ReasonNetworkPolicyInvalid = "NetworkPolicyInvalid"
	// ReasonNetworkPolicyClosed : the API server refuses the rules of the template, and there were none before: nothing goes in or out.
	ReasonNetworkPolicyClosed = "NetworkPolicyClosed"
	// ReasonRouterAdmitted : a rule may admit the router.
	ReasonRouterAdmitted = "RouterAdmitted"
	// ReasonRouterLockedOut : no rule admits the router.
	ReasonRouterLockedOut = "RouterLockedOut"
)

// Reasons of Events. ClaimExpired, WarmPoolProgressing and WarmPoolNotProgressing share their names with reasons above.
const (
	// EventSandboxAdopted : a claim took a Sandbox from its pool.
	EventSandboxAdopted = "SandboxAdopted"
	// EventSandboxProvisioned : a claim started a Sandbox of its own.
	EventSandboxProvisioned = "SandboxProvisioned"
	// EventSandboxReplaced : the Sandbox of a claim was deleted by somebody, and the claim binds anew.
	EventSandboxReplaced = "SandboxReplaced"
	// EventSandboxCreateFailed : the API server refused a member of a pool.
	EventSandboxCreateFailed = "SandboxCreateFailed"
)
