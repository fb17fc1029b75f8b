// Package refusals tells why an API server refuses a write.
package refusals

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// webhookPrefix begins the message of every refusal by an admission webhook, whatever its code.
const webhookPrefix = "admission webhook "

// IsOfObject reports whether err refuses an object for what it is, so that the same write is refused whenever it is made.
// Webhooks and policies answer with the same codes, and may think better of it: a webhook names itself, and a policy gives
// causes that name no field.
func IsOfObject(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || strings.HasPrefix(status.Status().Message, webhookPrefix) {
		return false
	}
	var causes []metav1.StatusCause
	if details := status.Status().Details; details != nil {
		causes = details.Causes
	}
	if slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool { return cause.Field == "" }) {
		return false
	}
	switch status.Status().Reason {
	case metav1.StatusReasonInvalid:
		return len(causes) > 0
	case metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return true
	default:
		return false
	}
}

// IsNamespaceGoing reports whether err refuses an object since its namespace is being deleted, and takes all that is in it
// along: nothing can be made there any more, not even an Event.
func IsNamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
