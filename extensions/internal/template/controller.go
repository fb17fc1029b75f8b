package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	outcomes "sigs.k8s.io/agent-sandbox/shared/reconcile"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

const (
	// retryFirst and retryLongest bound the pause before what failed is tried again; it doubles in between.
	retryFirst   = 100 * time.Millisecond
	retryLongest = time.Minute
)

// Config is what a Reconciler stands on; every field is required.
type Config struct {
	// Client reads from the cache, with read-your-own-writes consistency, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder takes the Events.
	Recorder events.Recorder
	// Clock tells the time once in each pass.
	Clock clock.PassiveClock
	// RouterNamespace is where the router stands, which the secure default policy admits.
	RouterNamespace string
}

// Reconciler keeps the NetworkPolicies of templates.
type Reconciler struct {
	client          client.Client
	live            client.Reader
	recorder        events.Recorder
	clock           clock.PassiveClock
	routerNamespace string
}

// New returns a Reconciler.
func New(config Config) *Reconciler {
	return &Reconciler{
		client: config.Client, live: config.Live, recorder: config.Recorder, clock: config.Clock, routerNamespace: config.RouterNamespace,
	}
}

// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxtemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxtemplates/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxtemplates/finalizers,verbs=update
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// Reconcile works on one template.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	outcome := r.reconcile(ctx, request.NamespacedName)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	return outcome.Result()
}

func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName) outcomes.Outcome {
	template := &extensionsv1beta1.SandboxTemplate{}
	found, err := consistency.Find(ctx, r.client, key, template)
	switch {
	case err != nil:
		return outcomes.Failed(fmt.Errorf("reading SandboxTemplate %q: %w", key.Name, err))
	case !found || template.DeletionTimestamp != nil:
		// Its owner references take the policy along.
		return outcomes.Done()
	}
	s, err := r.observe(ctx, r.client, template)
	if err != nil {
		return outcomes.Failed(err)
	}
	errs := r.act(ctx, s, decide(s))
	going := slices.ContainsFunc(errs, refusals.IsNamespaceGoing)
	if err := r.writeStatus(ctx, s, errs); err != nil {
		errs = append(errs, err)
	}
	return outcome(errs, going)
}

// outcome waits for an event where the template, the policy or the namespace has to change first. Whatever fails beside that is
// tried again.
func outcome(errs []error, going bool) outcomes.Outcome {
	if len(errs) == 0 || going {
		return outcomes.Done()
	}
	var blocked problem
	for _, err := range errs {
		if !errors.As(err, &blocked) {
			return outcomes.Failed(errors.Join(errs...))
		}
	}
	return outcomes.Stalled(blocked.reason)
}

func (r *Reconciler) observe(ctx context.Context, reader client.Reader, template *extensionsv1beta1.SandboxTemplate) (seen, error) {
	s := seen{now: r.clock.Now(), template: template, routerNamespace: r.routerNamespace}
	policy := &networkingv1.NetworkPolicy{}
	key := types.NamespacedName{Namespace: template.Namespace, Name: PolicyName(template.Name)}
	found, err := consistency.Find(ctx, reader, key, policy)
	if err != nil {
		return s, fmt.Errorf("reading NetworkPolicy %q: %w", key.Name, err)
	}
	if found {
		s.policy = policy
	}
	return s, nil
}

// act carries out a plan.
func (r *Reconciler) act(ctx context.Context, s seen, p plan) []error {
	var errs []error
	if len(p.labels) > 0 {
		errs = appendError(errs, r.label(ctx, s.template, p.labels))
	}
	switch {
	case p.create != nil:
		errs = appendError(errs, r.create(ctx, s, p.create))
	case len(p.change) > 0:
		errs = appendError(errs, r.change(ctx, s.policy, p.change))
	case p.remove != nil:
		err := r.client.Delete(ctx, p.remove, client.Preconditions{UID: &p.remove.UID, ResourceVersion: &p.remove.ResourceVersion})
		errs = appendError(errs, wrap(consistency.IgnoreMoved(err), "deleting NetworkPolicy", p.remove.Name))
	}
	if p.blocked != nil {
		errs = append(errs, *p.blocked)
	}
	return errs
}

func (r *Reconciler) label(ctx context.Context, template *extensionsv1beta1.SandboxTemplate, labels map[string]*string) error {
	body, err := apply.Metadata{UID: template.UID, Labels: labels}.Bytes(nil)
	if err != nil {
		return err
	}
	target := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name}}
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body))
	return wrap(consistency.IgnoreMoved(err), "labelling SandboxTemplate", template.Name)
}

// create makes the policy. Where the API server refuses its rules, one that lets nothing in or out takes its place.
func (r *Reconciler) create(ctx context.Context, s seen, wanted *networkingv1.NetworkPolicy) error {
	err := r.make(ctx, s, wanted)
	if !refusals.IsOfObject(err) {
		return err
	}
	failed := r.make(ctx, s, closed(wanted))
	switch {
	case failed == nil:
		return refusedFor(extensionsv1beta1.ReasonNetworkPolicyClosed, err)
	case refusals.IsOfObject(failed):
		return refusedFor(extensionsv1beta1.ReasonNetworkPolicyInvalid, err)
	}
	return failed
}

// make creates a policy. One of its name that stands already and that the cache does not show is somebody else's, or another
// process's: its event comes.
func (r *Reconciler) make(ctx context.Context, s seen, wanted *networkingv1.NetworkPolicy) error {
	err := r.client.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "creating NetworkPolicy", wanted.Name)
	}
	now, err := r.observe(ctx, r.live, s.template)
	if err != nil || now.policy == nil {
		return err
	}
	switch p := decide(now); {
	case p.blocked != nil:
		return *p.blocked
	case len(p.change) > 0:
		return r.change(ctx, now.policy, p.change)
	}
	return nil
}

func (r *Reconciler) change(ctx context.Context, policy *networkingv1.NetworkPolicy, operations []apply.Operation) error {
	body, err := json.Marshal(append([]apply.Operation{apply.At(policy.ResourceVersion)}, operations...))
	if err != nil {
		return fmt.Errorf("encoding a patch of NetworkPolicy %q: %w", policy.Name, err)
	}
	target := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policy.Namespace, Name: policy.Name}}
	err = r.client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, body))
	if refusals.IsOfObject(err) {
		return refusedFor(refusal(policy), err)
	}
	return wrap(consistency.IgnoreMoved(err), "patching NetworkPolicy", policy.Name)
}

// refusedFor is a policy that the API server does not take, which is so until the template changes.
func refusedFor(reason string, err error) problem {
	return problem{reason, fmt.Sprintf("networkPolicy is refused: %v", err)}
}

func wrap(err error, doing, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", doing, name, err)
}

func appendError(errs []error, err error) []error {
	if err == nil {
		return errs
	}
	return append(errs, err)
}

// templateOf is the template whose policy that is, by its name: one that stands in the way has no owner that would say so.
func templateOf(_ context.Context, policy client.Object) []reconcile.Request {
	name, ok := strings.CutSuffix(policy.GetName(), policySuffix)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: policy.GetNamespace(), Name: name}}}
}

// SetupWithManager registers the controller with as many workers.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int) error {
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).
		For(&extensionsv1beta1.SandboxTemplate{}, builder.WithPredicates(changed)).
		Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(templateOf)).
		WithOptions(outcomes.Options(workers, retryFirst, retryLongest)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("registering the controller of templates: %w", err)
	}
	return nil
}
