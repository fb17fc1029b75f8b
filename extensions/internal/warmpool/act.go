package warmpool

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

const (
	// suffixLength is that of the random end of a member's name, as Kubernetes itself has it.
	suffixLength = 5
	// longestBase leaves room for the suffix in a DNS label.
	longestBase = 63 - 1 - suffixLength
	// widestBatch is how many members are made or deleted at the same time.
	widestBatch = 64
)

// act carries out a plan: what goes first, so that what comes finds room.
func (r *Reconciler) act(ctx context.Context, s seen, p plan) done {
	var d done
	r.removeAll(ctx, s, p.remove, &d)
	for _, name := range p.drop {
		r.unanswered.Settle(s.pool.UID, name)
	}
	wanted := p.retry
	for range p.create {
		wanted = append(wanted, r.memberName(s.pool.Name))
	}
	r.buckets.Spend(s.pool.UID, s.now, p.create)
	r.createAll(ctx, s, wanted, &d)
	r.losses.Changed(s.pool.UID, len(d.created), d.deleted)
	return d
}

func (r *Reconciler) memberName(pool string) string {
	return strings.TrimRight(pool[:min(len(pool), longestBase)], "-.") + "-" + r.suffix(suffixLength)
}

// createAll makes members in batches that double, at most widestBatch at a time, until one of a batch fails: an API server that
// refuses all of them is asked once.
func (r *Reconciler) createAll(ctx context.Context, s seen, names []string, d *done) {
	for width := 1; len(names) > 0 && len(d.errors) == 0 && ctx.Err() == nil; width = min(2*width, widestBatch) {
		batch := names[:min(width, len(names))]
		names = names[len(batch):]
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, name := range batch {
			all.Go(func() {
				made, err := r.create(ctx, s, name)
				mu.Lock()
				defer mu.Unlock()
				d.fail(err)
				if made != nil {
					d.created = append(d.created, made)
				}
			})
		}
		all.Wait()
	}
}

// create makes one member. One of that name that stands already is the pool's, by an earlier try, or somebody else's, in which
// case another name is found by the next pass.
func (r *Reconciler) create(ctx context.Context, s seen, name string) (*sandboxv1beta1.Sandbox, error) {
	member := desiredMember(s, name)
	if r.evictable {
		markEvictable(member)
	}
	r.unanswered.Add(s.pool.UID, name)
	err := r.client.Create(ctx, member)
	switch {
	case err == nil:
		r.unanswered.Settle(s.pool.UID, name)
		return member, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err),
		apierrors.IsNotFound(err), apierrors.IsTooManyRequests(err):
		r.unanswered.Settle(s.pool.UID, name)
	}
	if apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("creating Sandbox %q: %w", name, err)
}

// desiredMember is what the pool makes.
func desiredMember(s seen, name string) *sandboxv1beta1.Sandbox {
	return blueprint.Sandbox(s.template, blueprint.Origin{
		Name:  name,
		Owner: *metav1.NewControllerRef(s.pool, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind)),
		Labels: map[string]string{
			sandboxv1beta1.LabelWarmPool:        names.Hash(s.pool.Name),
			sandboxv1beta1.LabelLaunchType:      sandboxv1beta1.LaunchTypeWarm,
			sandboxv1beta1.LabelCreatedBy:       sandboxv1beta1.CreatedByController,
			extensionsv1beta1.LabelTemplateHash: s.templateHash,
		},
		Annotations: map[string]string{sandboxv1beta1.AnnotationPodName: name, extensionsv1beta1.AnnotationWarmPoolRef: s.pool.Name},
	})
}

// markEvictable lets the node of a member go while it is idle, unless the template says otherwise.
func markEvictable(member *sandboxv1beta1.Sandbox) {
	if _, said := member.Spec.PodTemplate.Metadata.Annotations[sandboxv1beta1.AnnotationSafeToEvict]; !said {
		member.Annotations[sandboxv1beta1.AnnotationSafeToEvict] = "true"
	}
}

// removeAll deletes members as they were seen. One that has changed meanwhile is looked at again.
func (r *Reconciler) removeAll(ctx context.Context, s seen, members []target, d *done) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(widestBatch)
	for _, member := range members {
		all.Go(func() error {
			err := r.remove(ctx, s.pool.Namespace, member)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				d.deleted++
			case apierrors.IsConflict(err):
				d.outdated = true
			case !apierrors.IsNotFound(err):
				d.fail(err)
			}
			return nil
		})
	}
	d.fail(all.Wait())
}

func (r *Reconciler) remove(ctx context.Context, namespace string, member target) error {
	obj := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member.name}}
	err := r.client.Delete(ctx, obj, client.Preconditions{UID: &member.uid, ResourceVersion: &member.resourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return fmt.Errorf("deleting Sandbox %q: %w", member.name, err)
	}
	return nil
}
