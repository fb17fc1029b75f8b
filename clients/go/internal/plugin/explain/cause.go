package explain

// Cause is a word for what is the matter, for programs. The set is closed.
type Cause string

// Causes that any object can have.
const (
	AllWell          Cause = "AllWell"
	BeingDeleted     Cause = "BeingDeleted"
	FinalizerHolds   Cause = "FinalizerHolds"
	ControllerSilent Cause = "ControllerSilent"
	ControllerBehind Cause = "ControllerBehind"
	NotReadable      Cause = "NotReadable"
	Unexplained      Cause = "Unexplained"
)

// Causes of a Sandbox.
const (
	Suspended           Cause = "Suspended"
	Expired             Cause = "Expired"
	Ended               Cause = "Ended"
	BackingOff          Cause = "BackingOff"
	SeveralPods         Cause = "SeveralPods"
	NotOwned            Cause = "NotOwned"
	InvalidSpec         Cause = "InvalidSpec"
	QuotaExceeded       Cause = "QuotaExceeded"
	RuntimeClassMissing Cause = "RuntimeClassMissing"
	PodSecurity         Cause = "PodSecurity"
	Refused             Cause = "Refused"
	TemplateDrifted     Cause = "TemplateDrifted"
)

// Causes of a Pod.
const (
	PodMissing          Cause = "PodMissing"
	PodTerminating      Cause = "PodTerminating"
	NodeSilent          Cause = "NodeSilent"
	Gated               Cause = "Gated"
	Unschedulable       Cause = "Unschedulable"
	SchedulerSilent     Cause = "SchedulerSilent"
	DiskPending         Cause = "DiskPending"
	StorageClassMissing Cause = "StorageClassMissing"
	ImagePull           Cause = "ImagePull"
	ImagePulling        Cause = "ImagePulling"
	ContainerConfig     Cause = "ContainerConfig"
	ContainerCrashes    Cause = "ContainerCrashes"
	ContainerStarting   Cause = "ContainerStarting"
	MountFails          Cause = "MountFails"
	PodSandboxFails     Cause = "PodSandboxFails"
	ProbeFails          Cause = "ProbeFails"
	NoAddress           Cause = "NoAddress"
	ServiceMissing      Cause = "ServiceMissing"
)

// Causes of a claim.
const (
	PoolMissing     Cause = "PoolMissing"
	TemplateMissing Cause = "TemplateMissing"
	ClaimRefused    Cause = "ClaimRefused"
	NoSandboxYet    Cause = "NoSandboxYet"
	Conflict        Cause = "Conflict"
	StartedCold     Cause = "StartedCold"
)

// Causes of a pool and of a template.
const (
	PoolOfZero      Cause = "PoolOfZero"
	PoolFilling     Cause = "PoolFilling"
	PoolHeld        Cause = "PoolHeld"
	NetworkPolicy   Cause = "NetworkPolicy"
	RouterLockedOut Cause = "RouterLockedOut"
)

// Causes of the installation.
const (
	NotInstalled    Cause = "NotInstalled"
	NotRunning      Cause = "NotRunning"
	NoLeader        Cause = "NoLeader"
	CRDNotInstalled Cause = "CRDNotInstalled"
)
