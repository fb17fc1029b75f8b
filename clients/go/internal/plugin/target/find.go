package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// What may not be there yet. The error around it says why, and what to do.
var (
	// ErrNoPod : the Sandbox has no Pod.
	ErrNoPod = errors.New("it has no Pod")
	// ErrNotBound : the claim has no Sandbox.
	ErrNotBound = errors.New("it has no Sandbox yet")
)

// Finder finds objects in a namespace.
type Finder struct {
	Reader    client.Reader
	Namespace string
}

// Find reads the object that a Ref means: of a bare name the Sandbox, else the claim.
func (f Finder) Find(ctx context.Context, ref Ref) (client.Object, error) {
	if ref.Kind != Any {
		return f.get(ctx, ref)
	}
	object, err := f.get(ctx, Ref{Sandbox, ref.Name})
	if !apierrors.IsNotFound(err) {
		return object, err
	}
	object, err = f.get(ctx, Ref{Claim, ref.Name})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("namespace %q has neither a Sandbox nor a claim named %q: `kubectl sandbox ls -n %s` lists what there is: %w",
			f.Namespace, ref.Name, f.Namespace, err)
	}
	return object, err
}

func (f Finder) get(ctx context.Context, ref Ref) (client.Object, error) {
	object := ref.Kind.New()
	if err := f.Reader.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: ref.Name}, object); err != nil {
		return nil, fmt.Errorf("reading %s in namespace %q: %w", ref, f.Namespace, err)
	}
	return object, nil
}

// Sandbox reads the Sandbox that a Ref means: of a claim the one that it is bound to, if that is the claim's.
func (f Finder) Sandbox(ctx context.Context, ref Ref) (*sandboxv1beta1.Sandbox, error) {
	object, err := f.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch found := object.(type) {
	case *sandboxv1beta1.Sandbox:
		return found, nil
	case *extensionsv1beta1.SandboxClaim:
		return f.Bound(ctx, found)
	}
	return nil, fmt.Errorf("%s is neither a Sandbox nor a claim: name one of these", ref)
}

// Bound reads the Sandbox that the claim is bound to, if the claim controls it. Before that, the error is ErrNotBound.
func (f Finder) Bound(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) (*sandboxv1beta1.Sandbox, error) {
	name := claim.Status.Sandbox.Name
	if name == "" {
		return nil, fmt.Errorf("%s: %w: `kubectl sandbox doctor %s -n %s` says why", Of(claim), ErrNotBound, Of(claim), f.Namespace)
	}
	sandbox := &sandboxv1beta1.Sandbox{}
	if err := f.Reader.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: name}, sandbox); err != nil {
		return nil, fmt.Errorf("reading Sandbox %q of %s: %w", name, Of(claim), err)
	}
	if !metav1.IsControlledBy(sandbox, claim) {
		return nil, fmt.Errorf("%s names Sandbox %q, which is not controlled by it: it is about to bind anew; try again", Of(claim), name)
	}
	return sandbox, nil
}

// Pod returns the Pod that the Sandbox controls. Without one the error is ErrNoPod; with several it says which.
func (f Finder) Pod(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*corev1.Pod, error) {
	pods, err := Pods(ctx, f.Reader, sandbox)
	if err != nil {
		return nil, err
	}
	switch len(pods) {
	case 1:
		return &pods[0], nil
	case 0:
		return nil, fmt.Errorf("sandbox/%s: %w%s", sandbox.Name, ErrNoPod, whyNoPod(sandbox))
	}
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return nil, fmt.Errorf("sandbox/%s controls several Pods (%s): delete those that are not wanted", sandbox.Name, strings.Join(names, ", "))
}

func whyNoPod(sandbox *sandboxv1beta1.Sandbox) string {
	if sandbox.Spec.OperatingMode == sandboxv1beta1.OperatingModeSuspended {
		return fmt.Sprintf(": it is suspended; `kubectl sandbox resume %s -n %s` starts it", sandbox.Name, sandbox.Namespace)
	}
	return fmt.Sprintf(": `kubectl sandbox doctor sandbox/%s -n %s` says why", sandbox.Name, sandbox.Namespace)
}

// Pods returns the Pods that the Sandbox controls, by name. They are looked for by the selector of its status, or by its name before it
// has one, and then told by the UID of their controller.
func Pods(ctx context.Context, reader client.Reader, sandbox *sandboxv1beta1.Sandbox) ([]corev1.Pod, error) {
	selector, err := labels.Parse(sandbox.Status.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("reading status.selector %q of sandbox/%s: %w", sandbox.Status.LabelSelector, sandbox.Name, err)
	}
	options := []client.ListOption{client.InNamespace(sandbox.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	if selector.Empty() {
		options = append(options, client.MatchingFields{metav1.ObjectNameField: sandbox.Name})
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing the Pods of sandbox/%s: %w", sandbox.Name, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, sandbox) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}
