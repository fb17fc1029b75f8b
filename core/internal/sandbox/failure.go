package sandbox

import (
	"errors"
	"slices"
	"strings"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

// isAwaitingOnly says whether nothing went wrong, though not all is there yet.
func isAwaitingOnly(failures []error) bool {
	return len(failures) > 0 && !slices.ContainsFunc(failures, func(err error) bool { return !isAwaited(err) })
}

// failureReason is the reason of Ready for an error.
func failureReason(err error) string {
	if obstacle, ok := errors.AsType[blocked](err); ok {
		return obstacle.reason
	}
	if isAwaited(err) {
		return sandboxv1beta1.ReasonDependenciesNotReady
	}
	if isPermanent(err) {
		return sandboxv1beta1.ReasonInvalidConfiguration
	}
	return sandboxv1beta1.ReasonReconcilerError
}

// isPermanent says whether the API server refuses the request whenever it is made, or the spec alone says so.
func isPermanent(err error) bool {
	if _, ok := errors.AsType[invalidSpec](err); ok {
		return true
	}
	_, isBlocked := errors.AsType[blocked](err)
	return !isBlocked && refusals.IsOfObject(err)
}

// worst is the error that decides about the condition: one that will pass keeps the others from being final, and what is merely
// awaited says less than what went wrong.
func worst(failures []error) error {
	decisive := failures[0]
	for _, err := range failures {
		switch {
		case isPermanent(err):
		case isAwaited(err):
			decisive = err
		default:
			return err
		}
	}
	return decisive
}

func isAwaited(err error) bool {
	_, ok := errors.AsType[awaited](err)
	return ok
}

// failureMessage tells all failures; what is awaited is none, and an obstacle needs no word of the errors that it brought about.
func failureMessage(failures []error) string {
	texts := make([]string, 0, len(failures))
	prefix := ""
	for _, err := range failures {
		if _, isBlocked := errors.AsType[blocked](err); !isBlocked && !isAwaited(err) {
			prefix = "Error seen: "
		}
		texts = append(texts, err.Error())
	}
	return prefix + strings.Join(texts, "; ")
}

// isWithheld says whether the API server was not asked, since an obstacle was seen to stand.
func isWithheld(err error) bool {
	obstacle, ok := errors.AsType[blocked](err)
	return ok && obstacle.refusal == nil
}

// retryable joins the errors that may pass and that nothing but another try can tell; nil when none does.
func retryable(failures []error) error {
	var passing []error
	for _, err := range failures {
		if !isPermanent(err) && !refusals.IsNamespaceGoing(err) && !isWithheld(err) && !isAwaited(err) {
			passing = append(passing, err)
		}
	}
	return errors.Join(passing...)
}
