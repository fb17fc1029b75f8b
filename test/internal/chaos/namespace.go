package chaos

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// collectorPatience is how long the garbage collector may take to learn of a new kind: it looks for some every 30 s.
const collectorPatience = 90 * time.Second

// makeNamespace makes the namespace, after all that runs before left has gone, and returns once Pods are admitted and
// Sandboxes can be orphaned there.
func (p *play) makeNamespace(ctx context.Context) error {
	for _, name := range namespaces() {
		if err := p.deleteNamespace(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range namespaces() {
		if err := await.Gone(ctx, p.client, namespaceObject(name), undoPatience); err != nil {
			return err
		}
	}
	name := p.settings.namespace()
	if err := p.client.Create(ctx, namespaceObject(name)); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: fixture.Named(name, "default")}
	if _, err := await.Until(ctx, p.client, account, fixture.Patience, await.Exists[*corev1.ServiceAccount]()); err != nil {
		return err
	}
	return p.awaitCollector(ctx, name)
}

// deleteNamespace does not wait for the end: Pods take their time. A conflict says that it is on its way out already.
func (p *play) deleteNamespace(ctx context.Context, name string) error {
	err := p.client.Delete(ctx, namespaceObject(name))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return nil
}

func namespaceObject(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: fixture.Named("", name)}
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
