package template

import (
	"context"
	"errors"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// testServer refuses policies with rules, and answers as it is told to the creation of others and to patches of a status.
type testServer struct {
	closed, status error
}

func (s testServer) create(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
	if policy, ok := obj.(*networkingv1.NetworkPolicy); ok && len(policy.Spec.Egress)+len(policy.Spec.Ingress) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "NetworkPolicy"}, policy.Name, field.ErrorList{field.Invalid(field.NewPath("spec", "egress"), "x", "no")})
	}
	if s.closed != nil {
		return s.closed
	}
	return c.Create(ctx, obj, o...)
}

func (s testServer) patchStatus(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
	if s.status != nil {
		return s.status
	}
	return c.SubResource(sub).Patch(ctx, obj, p, o...)
}

// A2.15: what the router meets is what holds, not what was refused.
func TestTheRouterIsLockedOutByWhatHolds(t *testing.T) {
	open := withRules(extensionsv1beta1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}})
	stands := desiredPolicy(testTemplate(), "router-home")
	cases := map[string]struct {
		seen   seen
		err    error
		reason string
	}{
		"nothing is refused":         {seen{}, nil, extensionsv1beta1.ReasonRouterAdmitted},
		"nothing goes in or out":     {seen{}, problem{extensionsv1beta1.ReasonNetworkPolicyClosed, "no"}, extensionsv1beta1.ReasonRouterLockedOut},
		"the rules of before hold":   {seen{policy: stands}, problem{extensionsv1beta1.ReasonNetworkPolicyInvalid, "no"}, extensionsv1beta1.ReasonRouterAdmitted},
		"those of before are closed": {seen{policy: closed(stands)}, problem{extensionsv1beta1.ReasonNetworkPolicyInvalid, "no"}, extensionsv1beta1.ReasonRouterLockedOut},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.seen.template, tc.seen.routerNamespace = testTemplate(open), "router-home"
			router := meta.FindStatusCondition(desiredConditions(tc.seen, tc.err), extensionsv1beta1.ConditionRouterReachable)
			if router == nil || router.Reason != tc.reason {
				t.Errorf("%+v, want %s", router, tc.reason)
			}
		})
	}
}

// Rules that are refused are not tried again; what fails beside them is, or Pods would stay without a policy.
func TestWhatFailsBesideARefusalIsTriedAgain(t *testing.T) {
	slow := apierrors.NewTimeoutError("no answer", 1)
	long := apierrors.NewInvalid(schema.GroupKind{Kind: "NetworkPolicy"}, "x", field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), "x", "too long")})
	const invalid, closedOff = extensionsv1beta1.ReasonNetworkPolicyInvalid, extensionsv1beta1.ReasonNetworkPolicyClosed
	cases := map[string]struct {
		server testServer
		before []func(*extensionsv1beta1.SandboxTemplate)
		again  bool
		stands bool
		reason string
	}{
		"nothing":                            {testServer{}, nil, false, true, closedOff},
		"the closed policy in their place":   {testServer{closed: slow}, nil, true, false, extensionsv1beta1.ReasonReconcilerError},
		"also when they were refused before": {testServer{closed: slow}, []func(*extensionsv1beta1.SandboxTemplate){told(closedOff, 2)}, true, false, closedOff},
		"not one that is refused itself":     {testServer{closed: long}, nil, false, false, invalid},
		"nor by one that was refused before": {testServer{closed: long}, []func(*extensionsv1beta1.SandboxTemplate){told(invalid, 2)}, false, false, invalid},
		"the status that tells of it":        {testServer{status: slow}, nil, true, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{networkingv1.AddToScheme, extensionsv1beta1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			template := testTemplate(slices.Concat(tc.before, []func(*extensionsv1beta1.SandboxTemplate){withRules(extensionsv1beta1.NetworkPolicySpec{
				Egress: []networkingv1.NetworkPolicyEgressRule{{}},
			})})...)
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(template).WithStatusSubresource(template).
				WithInterceptorFuncs(interceptor.Funcs{Create: tc.server.create, SubResourcePatch: tc.server.patchStatus}).Build()
			reconciler := New(Config{
				Client: cluster, Live: cluster, Recorder: events.Discard(), Clock: testclock.NewFakePassiveClock(template.CreationTimestamp.Time), RouterNamespace: "home",
			})
			_, err := reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(template)})
			if again := err != nil; again != tc.again || again && !errors.Is(err, slow) {
				t.Errorf("the pass ended with %v", err)
			}
			var policies networkingv1.NetworkPolicyList
			if err := errors.Join(cluster.List(context.Background(), &policies), cluster.Get(context.Background(), client.ObjectKeyFromObject(template), template)); err != nil {
				t.Fatal(err)
			}
			reason := ""
			if ready := meta.FindStatusCondition(template.Status.Conditions, extensionsv1beta1.ConditionReady); ready != nil {
				reason = ready.Reason
			}
			if stands := len(policies.Items) == 1; stands != tc.stands || reason != tc.reason {
				t.Errorf("%d policies, reason %q", len(policies.Items), reason)
			}
		})
	}
}
