package consistency

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IgnoreMoved drops the errors that say that what was seen is no longer there, NotFound and Conflict: its event brings whoever
// depends on it back.
func IgnoreMoved(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Find reads one object, and says whether it exists. Its errors are the reader's, NotFound apart.
func Find(ctx context.Context, reader client.Reader, key types.NamespacedName, into client.Object) (bool, error) {
	err := reader.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
