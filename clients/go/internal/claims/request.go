package claims

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

var (
	// ErrFailed says that a claim does not get its Sandbox, or is refused.
	ErrFailed = errors.New("the claim failed")
	// ErrConflict says that a claim of that name exists and asks for something else.
	ErrConflict = errors.New("a claim of that name exists and asks for something else")
	// ErrDeleted says that the claim or the Sandbox was deleted.
	ErrDeleted = errors.New("the sandbox was deleted")
)

// Create makes a claim, unless one of its name exists that asks for the same: that one is returned instead, and false. The error is
// ErrConflict if it asks for something else or is being deleted, and ErrFailed if the API server refuses the claim.
func (c *Cluster) Create(ctx context.Context, wanted *extensionsv1beta1.SandboxClaim) (*extensionsv1beta1.SandboxClaim, bool, error) {
	client := c.Claims(wanted.Namespace)
	made, err := client.Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		return made, true, nil
	case apierrors.IsAlreadyExists(err):
	case refused(err):
		return nil, false, fmt.Errorf("creating claim %s/%s: %w: %w", wanted.Namespace, wanted.Name, ErrFailed, err)
	default:
		return nil, false, fmt.Errorf("creating claim %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	existing, err := client.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return nil, false, fmt.Errorf("reading claim %s/%s, which exists already: %w", wanted.Namespace, wanted.Name, err)
	}
	if difference := Difference(existing, wanted); difference != "" {
		return nil, false, Conflict(wanted.Namespace, wanted.Name, difference)
	}
	return existing, false, nil
}

// Conflict is ErrConflict of a claim that differs so.
func Conflict(namespace, name, difference string) error {
	return fmt.Errorf("claim %s/%s %s: %w: use another name, or delete that claim first", namespace, name, difference, ErrConflict)
}

// refused tells what the API server decided about a claim from what kept it from deciding.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err)
}

// Delete deletes a claim, and with it its Sandbox. One that is gone, or was replaced by another of its name, is no error. An empty uid
// means whatever has that name.
func (c *Cluster) Delete(ctx context.Context, namespace, name string, uid types.UID) error {
	var options metav1.DeleteOptions
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := c.Claims(namespace).Delete(ctx, name, options)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting claim %s/%s: %w", namespace, name, err)
}

// Difference says in what an existing claim is not what is wanted, or nothing if it is. When a claim ends is not compared, since that is
// renewed, and of its labels and annotations only those that are asked for are.
func Difference(existing, wanted *extensionsv1beta1.SandboxClaim) string {
	switch have, want := existing.Spec, wanted.Spec; {
	case existing.DeletionTimestamp != nil:
		return "is being deleted"
	case have.WarmPoolRef != want.WarmPoolRef:
		return fmt.Sprintf("has spec.warmPoolRef.name %q, not %q", have.WarmPoolRef.Name, want.WarmPoolRef.Name)
	case !equality.Semantic.DeepEqual(have.Env, want.Env):
		return "has another spec.env"
	case !equality.Semantic.DeepEqual(have.VolumeClaimTemplates, want.VolumeClaimTemplates):
		return "has other spec.volumeClaimTemplates"
	case !equality.Semantic.DeepEqual(have.AdditionalPodMetadata, want.AdditionalPodMetadata):
		return "has other spec.additionalPodMetadata"
	case !equality.Semantic.DeepEqual(ending(have.Lifecycle), ending(want.Lifecycle)):
		return "has another spec.lifecycle"
	}
	if key := missing(existing.Labels, wanted.Labels); key != "" {
		return fmt.Sprintf("has label %s %q, not %q", key, existing.Labels[key], wanted.Labels[key])
	}
	if key := missing(existing.Annotations, wanted.Annotations); key != "" {
		return fmt.Sprintf("has annotation %s %q, not %q", key, existing.Annotations[key], wanted.Annotations[key])
	}
	return ""
}

// ending is a lifecycle without its time, and with what the API server fills in.
func ending(l *extensionsv1beta1.Lifecycle) extensionsv1beta1.Lifecycle {
	if l == nil {
		return extensionsv1beta1.Lifecycle{ShutdownPolicy: extensionsv1beta1.ShutdownPolicyRetain}
	}
	compared := *l
	compared.ShutdownTime = nil
	if compared.ShutdownPolicy == "" {
		compared.ShutdownPolicy = extensionsv1beta1.ShutdownPolicyRetain
	}
	return compared
}

// missing returns the first key of those wanted that has another value or none. Those that tell of one request alone do not count.
func missing(have, want map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(ofOneRequest(), key) && have[key] != want[key] {
			return key
		}
	}
	return ""
}

// ofOneRequest are the annotations that differ from one request for the same to the next.
func ofOneRequest() []string {
	return []string{extensionsv1beta1.AnnotationClientRequestedAt, sandboxv1beta1.AnnotationTraceContext}
}
