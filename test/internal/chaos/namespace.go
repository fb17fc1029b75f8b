package chaos

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// collectorPatience is how long the garbage collector may take to learn of a new kind: it looks for some every 30 s.
const collectorPatience = 90 * time.Second

// makeNamespace makes the namespace, after it removed what a run that was killed left of it, and returns once Pods are
// admitted and Sandboxes can be orphaned there.
func (p *play) makeNamespace(ctx context.Context) error {
	if err := p.removeNamespace(ctx); err != nil {
		return err
	}
	name := p.settings.Variant.namespace()
	if err := p.client.Create(ctx, &corev1.Namespace{ObjectMeta: fixture.Named("", name)}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: fixture.Named(name, "default")}
	if _, err := await.Until(ctx, p.client, account, fixture.Patience, await.Exists[*corev1.ServiceAccount]()); err != nil {
		return err
	}
	return p.awaitCollector(ctx, name)
}

func (p *play) removeNamespace(ctx context.Context) error {
	if err := p.deleteNamespace(ctx); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: fixture.Named("", p.settings.Variant.namespace())}
	return await.Gone(ctx, p.client, namespace, undoPatience)
}

// deleteNamespace does not wait for the end, which takes long when Pods take their time.
func (p *play) deleteNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: fixture.Named("", p.settings.Variant.namespace())}
	if err := p.client.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting namespace %s: %w", namespace.Name, err)
	}
	return nil
}

// awaitCollector returns once the garbage collector knows Sandboxes: only then does one go that is deleted without its
// children.
func (p *play) awaitCollector(ctx context.Context, namespace string) error {
	probe := fixture.Sandbox(namespace, "probe", fixture.WithMode(sandboxv1beta1.OperatingModeSuspended))
	if err := p.client.Create(ctx, probe); err != nil {
		return fmt.Errorf("creating a Sandbox for the garbage collector: %w", err)
	}
	if err := p.client.Delete(ctx, probe.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return fmt.Errorf("deleting a Sandbox for the garbage collector: %w", err)
	}
	return await.Gone(ctx, p.client, probe, collectorPatience)
}
