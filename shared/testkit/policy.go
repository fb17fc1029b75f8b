package testkit

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InNamespace selects one namespace, by the label that each has.
func InNamespace(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

// Operations are those on a resource of the core group, as admission rules have them.
func Operations(on string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{on}},
	}
}

// Deny sets up a ValidatingAdmissionPolicy against operations in a namespace, which is in force a moment later, until the test
// ends. An empty reason is the API server's own.
func Deny(t testing.TB, api client.Client, namespace string, what admissionregistrationv1.RuleWithOperations, reason metav1.StatusReason, message string) {
	t.Helper()
	validation := admissionregistrationv1.Validation{Expression: "false", Message: message}
	if reason != "" {
		validation.Reason = ptr.To(reason)
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: InNamespace(namespace),
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: what}},
			},
			Validations: []admissionregistrationv1.Validation{validation},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		if err := api.Create(context.Background(), obj); err != nil {
			t.Fatalf("creating the policy: %v", err)
		}
		t.Cleanup(func() { _ = api.Delete(context.Background(), obj) })
	}
}

// Allow takes away what Deny set up.
func Allow(t testing.TB, api client.Client, namespace string) {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := api.Delete(context.Background(), policy); err != nil {
		t.Fatalf("deleting the policy: %v", err)
	}
}
