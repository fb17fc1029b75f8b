package template

import (
	"context"
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/conditions"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// writeStatus stores what the template is told, and tells Events of what is new in it.
func (r *Reconciler) writeStatus(ctx context.Context, s seen, errs []error) error {
	wanted := extensionsv1beta1.SandboxTemplateStatus{Conditions: conditions.Settle(
		[]string{extensionsv1beta1.ConditionReady, extensionsv1beta1.ConditionRouterReachable},
		s.template.Status.Conditions, desiredConditions(s, errors.Join(errs...)), metav1.NewTime(s.now))}
	body, err := apply.Status(s.template.UID, s.template.Status, wanted)
	if err != nil || body == nil {
		return err
	}
	target := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: s.template.Namespace, Name: s.template.Name}}
	if err := r.client.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, body)); err != nil {
		return consistency.IgnoreMoved(fmt.Errorf("patching the status of SandboxTemplate %q: %w", s.template.Name, err))
	}
	events.Tell(r.recorder, s.template, errs, statusEvents(s.template.Status.Conditions, wanted.Conditions)...)
	return nil
}

func desiredConditions(s seen, err error) []metav1.Condition {
	wanted := desiredPolicy(s.template, s.routerNamespace)
	all := []metav1.Condition{readyCondition(wanted, err)}
	if wanted != nil {
		all = append(all, routerCondition(inForce(wanted, s.policy, all[0].Reason), s.routerNamespace))
	}
	for i := range all {
		all[i].ObservedGeneration = s.template.Generation
	}
	return all
}

func readyCondition(wanted *networkingv1.NetworkPolicy, err error) metav1.Condition {
	ready := metav1.Condition{Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse}
	var blocked problem
	switch {
	case errors.As(err, &blocked):
		ready.Reason, ready.Message = blocked.reason, blocked.message
	case err != nil:
		ready.Reason, ready.Message = extensionsv1beta1.ReasonReconcilerError, "Error seen: "+err.Error()
	case wanted == nil:
		ready.Status, ready.Reason = metav1.ConditionTrue, extensionsv1beta1.ReasonNetworkPolicyUnmanaged
		ready.Message = "There is no NetworkPolicy of this template's own"
	default:
		ready.Status, ready.Reason = metav1.ConditionTrue, extensionsv1beta1.ReasonNetworkPolicyApplied
		ready.Message = fmt.Sprintf("NetworkPolicy %q is in step with the template", wanted.Name)
	}
	return ready
}

func routerCondition(wanted *networkingv1.NetworkPolicy, routerNamespace string) metav1.Condition {
	if isRouterLockedOut(wanted, routerNamespace) {
		return metav1.Condition{
			Type: extensionsv1beta1.ConditionRouterReachable, Status: metav1.ConditionFalse, Reason: extensionsv1beta1.ReasonRouterLockedOut,
			Message: fmt.Sprintf("No ingress rule admits Pods with %s=%s in namespace %q: the router cannot reach the Sandboxes of this template",
				routerLabel, routerValue, routerNamespace),
		}
	}
	return metav1.Condition{
		Type: extensionsv1beta1.ConditionRouterReachable, Status: metav1.ConditionTrue, Reason: extensionsv1beta1.ReasonRouterAdmitted,
		Message: fmt.Sprintf("An ingress rule may admit the router in namespace %q", routerNamespace),
	}
}

// statusEvents warn of each condition that turned False, or is False for another reason, and tell when one has become True again.
func statusEvents(before, after []metav1.Condition) []events.Event {
	var told []events.Event
	for _, is := range after {
		if is.Type != extensionsv1beta1.ConditionReady && is.Type != extensionsv1beta1.ConditionRouterReachable {
			continue
		}
		was := meta.FindStatusCondition(before, is.Type)
		switch {
		case is.Status == metav1.ConditionFalse && (was == nil || was.Reason != is.Reason):
			told = append(told, events.Warning(is.Reason, "KeepNetworkPolicy", is.Message))
		case is.Status == metav1.ConditionTrue && was != nil && was.Status == metav1.ConditionFalse:
			told = append(told, events.Normal(is.Reason, "KeepNetworkPolicy", is.Message))
		}
	}
	return told
}
