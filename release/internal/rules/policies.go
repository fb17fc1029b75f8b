package rules

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// policiesBound: a policy that no binding puts in force protects nothing, nor does one that only warns, and nothing says so. One
// that looks the other way when it fails can be made to fail.
func policiesBound(asset manifest.Asset) []finding.Finding {
	denied := map[string]bool{} // names of policies, by their bindings
	for _, object := range asset.Objects {
		if binding, ok := object.Typed.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); ok {
			denied[binding.Spec.PolicyName] = slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny)
		}
	}
	var findings []finding.Finding
	for _, object := range asset.Objects {
		policy, ok := object.Typed.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		if !ok {
			continue
		}
		if !denied[policy.Name] {
			findings = append(findings, finding.Finding{
				Object: object.ID(), Field: "metadata.name", Value: policy.Name, Fix: "bind the policy with the validation action Deny",
			})
		}
		if onFailure := policy.Spec.FailurePolicy; onFailure != nil && *onFailure != admissionregistrationv1.Fail {
			findings = append(findings, finding.Finding{Object: object.ID(), Field: "spec.failurePolicy", Value: string(*onFailure), Fix: "set it to Fail"})
		}
	}
	return findings
}
