package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// keeper is the user who keeps pools and templates.
type keeper struct {
	*play
	templates []template
	pools     []pool

	mu   sync.Mutex
	size map[string]int32 // of pools, by name, as last asked for
}

func newKeeper(p *play) *keeper {
	return &keeper{play: p, templates: templates(), pools: pools(), size: map[string]int32{}}
}

// makeAll makes templates and pools.
func (k *keeper) makeAll(ctx context.Context) error {
	namespace := k.settings.namespace()
	made := map[string]*extensionsv1beta1.SandboxTemplate{}
	for _, t := range k.templates {
		made[t.name] = desiredTemplate(namespace, t)
		if err := k.client.Create(ctx, made[t.name]); err != nil {
			return fmt.Errorf("creating template %q: %w", t.name, err)
		}
	}
	for _, p := range k.pools {
		object := fixture.Pool(made[p.template], p.name, p.replicas)
		object.Spec.UpdateStrategy.Type = p.strategy
		if err := k.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating pool %q: %w", p.name, err)
		}
		k.size[p.name] = p.replicas
	}
	return nil
}

// sizes are what pools were last asked to have.
func (k *keeper) sizes() map[string]int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]int32{}
	for name, size := range k.size {
		all[name] = size
	}
	return all
}

// run does everything in its time, or as soon as possible after.
func (k *keeper) run(ctx context.Context, began time.Time) error {
	var most []int32
	for _, p := range k.pools {
		most = append(most, p.most)
	}
	for _, action := range schedule.PoolActions(k.settings.Seed, most, len(k.templates), k.settings.Duration) {
		if err := sleepUntil(ctx, began.Add(action.At)); err != nil {
			return err
		}
		k.diary.note("", "user: %s", action)
		if err := k.act(ctx, action, time.Since(began)); err != nil {
			return err
		}
		k.tally.change(func(c *counts) { c.actions[action.Kind]++ })
	}
	return nil
}

func (k *keeper) act(ctx context.Context, action schedule.PoolAction, at time.Duration) error {
	switch action.Kind {
	case schedule.Scale:
		name := k.pools[action.Pool].name
		object := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: fixture.Named(k.settings.namespace(), name)}
		err := k.patch(ctx, object, fmt.Sprintf(`{"spec":{"replicas":%d}}`, action.Replicas))
		k.mu.Lock()
		defer k.mu.Unlock()
		k.size[name] = action.Replicas
		return err
	case schedule.EditTemplate:
		object := &extensionsv1beta1.SandboxTemplate{ObjectMeta: fixture.Named(k.settings.namespace(), k.templates[action.Template].name)}
		return k.patch(ctx, object, editOfTemplate(at))
	case schedule.DeleteMember:
		return k.deleteMember(ctx, k.pools[action.Pool].name, action.Member)
	default:
		return fmt.Errorf("no keeper of pools knows how to %s", action.Kind)
	}
}

func (k *keeper) patch(ctx context.Context, object client.Object, body string) error {
	err := k.persist(ctx, func() error {
		return k.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(body)))
	})
	if err != nil {
		return fmt.Errorf("patching %s with %s: %w", object.GetName(), body, err)
	}
	return nil
}

// deleteMember deletes the member at a place of the list, from 0 to 1. A claim may have taken it meanwhile.
func (k *keeper) deleteMember(ctx context.Context, pool string, place float64) error {
	var all sandboxv1beta1.SandboxList
	err := k.persist(ctx, func() error { return k.client.List(ctx, &all, client.InNamespace(k.settings.namespace())) })
	if err != nil {
		return fmt.Errorf("listing members: %w", err)
	}
	var members []*sandboxv1beta1.Sandbox
	for i := range all.Items {
		if owner := metav1.GetControllerOf(&all.Items[i]); owner != nil && owner.Kind == extensionsv1beta1.SandboxWarmPoolKind && owner.Name == pool {
			members = append(members, &all.Items[i])
		}
	}
	if len(members) == 0 {
		k.tally.change(func(c *counts) { c.missed++ })
		return nil
	}
	member := members[int(place*float64(len(members)))]
	k.diary.note(member.Name, "user: deletes it, UID %s", member.UID)
	_, err = k.remove(ctx, member, metav1.DeletePropagationBackground)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting member %q: %w", member.Name, err)
	}
	return nil
}
