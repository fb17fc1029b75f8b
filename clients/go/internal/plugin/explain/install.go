package explain

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// SystemNamespace is where the release installs the controllers.
const SystemNamespace = "agent-sandbox-system"

// Controllers are the names of the Deployments of the release.
const (
	CoreController       = "agent-sandbox-controller"
	ExtensionsController = "agent-sandbox-extensions-controller"
)

// LeaseOf is the name of the Lease that the working replica of a controller holds.
func LeaseOf(controller string) string { return controller + ".agents.x-k8s.io" }

// Controller is what was read of one.
type Controller struct {
	// Name of its Deployment.
	Name string
	// Missing are the kinds that it serves and the cluster does not know.
	Missing []string
	// Deployment is nil where there is none.
	Deployment *appsv1.Deployment
	// Lease is nil where there is none.
	Lease *coordinationv1.Lease
	// Unread are the errors of what could not be read.
	Unread []string
}

// Controllers explains whether the controllers work. There is one finding for each at least.
func Controllers(now time.Time, controllers []Controller) []Finding {
	var findings []Finding
	for _, c := range controllers {
		findings = append(findings, about("controller/"+c.Name, c.explain(now))...)
	}
	return findings
}

func (c Controller) explain(now time.Time) []Finding {
	if len(c.Missing) > 0 {
		severity := Stuck
		if c.Name == ExtensionsController && c.Deployment == nil {
			// Sandboxes do without.
			severity = Note
		}
		return one(found(severity, CRDNotInstalled, "It is not installed here").because("the cluster does not know %s", strings.Join(c.Missing, ", ")).
			next("kubectl get crds", "kubectl -n "+SystemNamespace+" get deployments"))
	}
	if c.leads(now) {
		return one(found(OK, AllWell, "It works").because("%s renewed the Lease %s ago", holder(c.Lease), now.Sub(c.Lease.Spec.RenewTime.Time).Round(time.Second)))
	}
	if len(c.Unread) > 0 {
		return one(found(Unknown, NotReadable, "Whether it works could not be read").because("%s", strings.Join(c.Unread, "; ")))
	}
	return one(c.idle(now))
}

// leads reports whether somebody holds the Lease, and renewed it in time.
func (c Controller) leads(now time.Time) bool {
	if c.Lease == nil || holder(c.Lease) == "" || c.Lease.Spec.RenewTime == nil || c.Lease.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return now.Sub(c.Lease.Spec.RenewTime.Time) <= time.Duration(*c.Lease.Spec.LeaseDurationSeconds)*time.Second
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// idle explains a controller that nobody leads.
func (c Controller) idle(now time.Time) Finding {
	describe := "kubectl -n " + SystemNamespace + " describe deployment " + c.Name
	switch {
	case c.Deployment == nil && c.Lease == nil:
		return found(Stuck, NotInstalled, "It is not installed in namespace %s, and has no Lease there", SystemNamespace).
			next("kubectl get deployments --all-namespaces -l app.kubernetes.io/name=" + c.Name)
	case c.Deployment == nil:
		return c.noLeader(now).next("kubectl -n " + SystemNamespace + " get leases")
	case c.Deployment.Status.AvailableReplicas == 0:
		return found(Stuck, NotRunning, "None of its replicas is available").because("%s", whyUnavailable(c.Deployment)).
			next("kubectl -n "+SystemNamespace+" get pods", describe)
	}
	return c.noLeader(now).next("kubectl -n "+SystemNamespace+" logs deployment/"+c.Name, describe)
}

func (c Controller) noLeader(now time.Time) Finding {
	f := found(Stuck, NoLeader, "It does no work: nobody holds its Lease")
	if c.Lease == nil || c.Lease.Spec.RenewTime == nil {
		return f
	}
	return f.because("%q renewed it %s ago, for the last time", holder(c.Lease), now.Sub(c.Lease.Spec.RenewTime.Time).Round(time.Second)).
		since(c.Lease.Spec.RenewTime.Time)
}

// whyUnavailable is what the Deployment says of itself.
func whyUnavailable(deployment *appsv1.Deployment) string {
	if wanted := deployment.Spec.Replicas; wanted != nil && *wanted == 0 {
		return "spec.replicas is 0"
	}
	for _, of := range []appsv1.DeploymentConditionType{appsv1.DeploymentReplicaFailure, appsv1.DeploymentAvailable} {
		for _, is := range deployment.Status.Conditions {
			if is.Type == of && (of == appsv1.DeploymentReplicaFailure) == (is.Status == corev1.ConditionTrue) {
				return is.Message
			}
		}
	}
	return "the Deployment has not said why"
}
