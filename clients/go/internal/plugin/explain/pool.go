package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Pool explains Seen.Pool, and the member of it that is not Ready for longest. There is one finding at least.
func Pool(seen Seen) []Finding {
	findings := first(seen, poolDeleting, poolUnobserved, poolByReason)
	if seen.Sandbox == nil {
		findings = append(findings, seen.unread()...)
	}
	return about("pool/"+seen.Pool.Name, findings)
}

func poolDeleting(s Seen) []Finding { return s.deleting(s.Pool, "sandboxwarmpool") }

func poolUnobserved(s Seen) []Finding { return s.unobserved(s.Pool, s.Pool.Status.ObservedGeneration) }

// Size is how many Sandboxes are to wait in a pool.
func Size(pool *extensionsv1beta1.SandboxWarmPool) int32 {
	if pool.Spec.Replicas == nil {
		return 1
	}
	return *pool.Spec.Replicas
}

func poolByReason(s Seen) []Finding {
	is := condition(s.Pool.Status.Conditions, extensionsv1beta1.ConditionProgressing)
	switch {
	case is == nil || is.Status == metav1.ConditionTrue:
		return filling(s, is)
	case is.Reason == extensionsv1beta1.ReasonSandboxTemplateError:
		return templateError(s, *is)
	}
	findings := one(found(Stuck, PoolHeld, "It comes no nearer to its size: %d of %d Sandboxes are ready", s.Pool.Status.ReadyReplicas, Size(s.Pool)).
		because("%s", is.Message).since(is.LastTransitionTime.Time).next(s.kubectl("describe sandboxwarmpool %s", s.Pool.Name)))
	return append(findings, member(s)...)
}

func templateError(s Seen, is metav1.Condition) []Finding {
	template := s.Pool.Spec.SandboxTemplateRef.Name
	if s.Template == nil {
		return one(found(Stuck, TemplateMissing, "Its template %q does not exist", template).because("%s; of templates, %s", is.Message, choices(s.TemplateNames)).
			since(is.LastTransitionTime.Time).next(s.kubectl("get sandboxtemplates"), s.kubectl("edit sandboxwarmpool %s", s.Pool.Name)))
	}
	return one(found(Stuck, InvalidSpec, "The API server finds a Sandbox made from template %q invalid", template).because("%s", is.Message).
		since(is.LastTransitionTime.Time).next(s.kubectl("edit sandboxtemplate %s", template)))
}

// filling explains a pool that has its size, or comes nearer to it.
func filling(s Seen, is *metav1.Condition) []Finding {
	size, ready := Size(s.Pool), s.Pool.Status.ReadyReplicas
	switch {
	case size == 0:
		return one(found(Note, PoolOfZero, "Its size is 0: every claim starts its Sandbox cold").
			next(s.kubectl("scale sandboxwarmpool %s --replicas=N", s.Pool.Name)))
	case ready >= size:
		f := found(OK, AllWell, "%d Sandboxes wait for claims", ready)
		if is != nil {
			f = f.because("%s", is.Message)
		}
		return one(f)
	}
	f := found(Waiting, PoolFilling, "Waiting for Sandboxes to become ready: %d of %d are", ready, size)
	if is != nil {
		f = f.because("%s", is.Message).since(is.LastTransitionTime.Time)
	}
	return append(one(f), member(s)...)
}

// member explains the member that is not Ready for longest.
func member(s Seen) []Finding {
	if s.Sandbox == nil {
		return nil
	}
	return worrying(Sandbox(s))
}
