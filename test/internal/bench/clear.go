package bench

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// removers is how many objects are deleted at a time.
const removers = 50

// clear deletes everything and waits for its end. Pools come first: they would make up for what is deleted.
func (r *round) clear(ctx context.Context) error {
	if err := r.deletePools(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := r.deleteAll(ctx); err != nil {
		return err
	}
	return r.awaitEmpty(ctx)
}

func (r *round) awaitEmpty(ctx context.Context) error {
	err := pollWhile(ctx, r.tracker.activity, "the end of all claims, Sandboxes and Pods", r.tracker.empty)
	if err != nil {
		return err
	}
	return r.settle(ctx)
}

// census is what is there, by name.
type census struct{ claims, sandboxes, pods []string }

// deleteAll asks for the end of every claim, Sandbox and Pod that is there. It does so one by one: the API server would delete
// a collection in a single request, which ends after a minute.
func (s *scene) deleteAll(ctx context.Context) error {
	if err := s.deleteEach(ctx, claimResource, s.tracker.census().claims, s.deleteClaim); err != nil {
		return err
	}
	if err := s.deleteEach(ctx, sandboxResource, s.tracker.census().sandboxes, s.deleteSandbox); err != nil {
		return err
	}
	return s.deleteEach(ctx, "pods", s.tracker.census().pods, s.deletePod)
}

func (s *scene) deleteEach(ctx context.Context, what string, names []string, remove func(context.Context, string) error) error {
	progress := s.progress.count("deleting "+what, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removers)
	for _, name := range names {
		group.Go(func() error {
			progress.one()
			err := remove(ctx, name)
			if apierrors.IsNotFound(err) {
				return nil // the garbage collector was faster
			}
			return err
		})
	}
	return group.Wait()
}

func (c clients) deleteClaim(ctx context.Context, name string) error {
	return deleteBy(ctx, c.extensions, claimResource, name)
}

func (c clients) deleteSandbox(ctx context.Context, name string) error {
	return deleteBy(ctx, c.sandboxes, sandboxResource, name)
}

func deleteBy(ctx context.Context, client rest.Interface, resource, name string) error {
	if err := client.Delete().Namespace(namespace).Resource(resource).Name(name).Do(ctx).Error(); err != nil {
		return fmt.Errorf("deleting %s %q: %w", resource, name, err)
	}
	return nil
}

func (c clients) deletePod(ctx context.Context, name string) error {
	if err := c.kubernetes.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting Pod %q: %w", name, err)
	}
	return nil
}
