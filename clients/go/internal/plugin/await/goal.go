package await

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Goal decides about an object as it is, nil once it is gone: whether it is as wanted. An error says that it never will be.
type Goal func(object client.Object) (done bool, err error)

// Ready wants a Sandbox or a claim that can be used.
func Ready(object client.Object) (bool, error) {
	if object == nil || object.GetDeletionTimestamp() != nil {
		return false, ErrDeleted
	}
	return says(object, sandboxv1beta1.ConditionReady), nil
}

// Suspended wants a Sandbox whose Pod is gone.
func Suspended(object client.Object) (bool, error) {
	if object == nil || object.GetDeletionTimestamp() != nil {
		return false, ErrDeleted
	}
	return says(object, sandboxv1beta1.ConditionSuspended), nil
}

// Gone wants no object, or another one of its name.
func Gone(object client.Object) (bool, error) { return object == nil, nil }

// says reports whether the condition is True for the object's own generation.
func says(object client.Object, of string) bool {
	is := meta.FindStatusCondition(conditionsOf(object), of)
	return is != nil && is.Status == metav1.ConditionTrue && is.ObservedGeneration == object.GetGeneration()
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch of := object.(type) {
	case *sandboxv1beta1.Sandbox:
		return of.Status.Conditions
	case *extensionsv1beta1.SandboxClaim:
		return of.Status.Conditions
	}
	return nil
}

// StateError is the matter with what is waited for.
type StateError struct {
	Finding explain.Finding
}

// Error implements error.
func (e *StateError) Error() string {
	text := e.Finding.What
	if e.Finding.Why != "" {
		text += ": " + e.Finding.Why
	}
	return text
}

// hopeless is an error for what clients give up on at once: these causes never stand for what passes.
func hopeless(of explain.Finding) error {
	switch of.Cause {
	case explain.InvalidSpec, explain.ClaimRefused, explain.Expired, explain.Ended:
		return &StateError{Finding: of}
	}
	return nil
}

// waitError is every error of waiting for an object.
func waitError(object client.Object, what string, err error) error {
	return fmt.Errorf("waiting for %s to %s: %w", target.Of(object), what, err)
}
