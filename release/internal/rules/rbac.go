package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// role is a Role or a ClusterRole.
type role struct {
	object      manifest.Object
	rules       []rbacv1.PolicyRule
	clusterWide bool
}

func roles(asset manifest.Asset) []role {
	var all []role
	for _, object := range asset.Objects {
		switch typed := object.Typed.(type) {
		case *rbacv1.ClusterRole:
			all = append(all, role{object: object, rules: typed.Rules, clusterWide: true})
		case *rbacv1.Role:
			all = append(all, role{object: object, rules: typed.Rules})
		}
	}
	return all
}

// leastPrivilege forbids wildcards and the three verbs that let their holder gain rights it does not have.
func leastPrivilege(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, role := range roles(asset) {
		for i, rule := range role.rules {
			lists := []struct {
				field  string
				values []string
			}{{"apiGroups", rule.APIGroups}, {"resources", rule.Resources}, {"verbs", rule.Verbs}, {"nonResourceURLs", rule.NonResourceURLs}}
			for _, list := range lists {
				if slices.Contains(list.values, "*") {
					findings = append(findings, finding.Finding{
						Object: role.object.ID(), Field: fmt.Sprintf("rules[%d].%s", i, list.field), Value: joined(list.values), Fix: "name each one",
					})
				}
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					findings = append(findings, finding.Finding{
						Object: role.object.ID(), Field: fmt.Sprintf("rules[%d].verbs", i), Value: verb, Fix: "drop the verb: it lets a controller gain any right",
					})
				}
			}
		}
	}
	return findings
}

// noClusterWideSecrets: a controller that reads the Secrets of all namespaces gives whoever takes it over the
// whole cluster.
func noClusterWideSecrets(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, role := range roles(asset) {
		for i, rule := range role.rules {
			if role.clusterWide && slices.Contains(rule.APIGroups, "") && slices.Contains(rule.Resources, "secrets") {
				findings = append(findings, finding.Finding{
					Object: role.object.ID(), Field: fmt.Sprintf("rules[%d].resources", i), Value: "secrets", Fix: "move the rule to a Role of the controller's namespace",
				})
			}
		}
	}
	return findings
}

// powers are resources by whose change a controller could take over the cluster, or open what its owners have closed.
func powers() []string {
	return []string{
		"secrets", "customresourcedefinitions", "clusterroles", "clusterrolebindings", "roles", "rolebindings", "serviceaccounts/token",
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"nodes", "namespaces", "resourcequotas", "limitranges", "runtimeclasses", "storageclasses",
	}
}

// noClusterWidePowers lets no ClusterRole change such resources.
func noClusterWidePowers(asset manifest.Asset) []finding.Finding {
	reads := []string{"get", "list", "watch"}
	var findings []finding.Finding
	for _, role := range roles(asset) {
		for i, rule := range role.rules {
			writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains(reads, verb) })
			if !role.clusterWide || !writes {
				continue
			}
			for _, power := range powers() {
				if slices.Contains(rule.Resources, power) {
					findings = append(findings, finding.Finding{
						Object: role.object.ID(), Field: fmt.Sprintf("rules[%d].resources", i), Value: power, Fix: "drop the verbs that change it, or move the rule to a Role",
					})
				}
			}
		}
	}
	return findings
}

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	object   manifest.Object
	role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

func bindings(asset manifest.Asset) []binding {
	var all []binding
	for _, object := range asset.Objects {
		switch typed := object.Typed.(type) {
		case *rbacv1.ClusterRoleBinding:
			all = append(all, binding{object: object, role: typed.RoleRef, subjects: typed.Subjects})
		case *rbacv1.RoleBinding:
			all = append(all, binding{object: object, role: typed.RoleRef, subjects: typed.Subjects})
		}
	}
	return all
}

func noClusterAdmin(asset manifest.Asset) []finding.Finding {
	var findings []finding.Finding
	for _, binding := range bindings(asset) {
		if slices.Contains([]string{"cluster-admin", "admin", "edit"}, binding.role.Name) && binding.role.Kind == "ClusterRole" {
			findings = append(findings, finding.Finding{
				Object: binding.object.ID(), Field: "roleRef.name", Value: binding.role.Name, Fix: "bind a role of our own with the verbs the code uses",
			})
		}
	}
	return findings
}

// bindingsResolve: the API server accepts a binding to nothing, and the controller then gets 403 at run time.
func bindingsResolve(asset manifest.Asset) []finding.Finding {
	declared := declaredIDs(asset)
	var findings []finding.Finding
	for _, binding := range bindings(asset) {
		id := binding.role.Kind + "." + rbacv1.GroupName + " " + binding.role.Name
		if binding.role.Kind == "Role" {
			id = "Role." + rbacv1.GroupName + " " + binding.object.Meta.GetNamespace() + "/" + binding.role.Name
		}
		if !declared[id] {
			findings = append(findings, finding.Finding{
				Object: binding.object.ID(), Field: "roleRef.name", Value: binding.role.Name, Fix: "declare the " + binding.role.Kind + " in this asset or correct the name",
			})
		}
		if len(binding.subjects) == 0 {
			findings = append(findings, finding.Finding{Object: binding.object.ID(), Field: "subjects", Fix: "name the ServiceAccount that gets the role"})
		}
		for i, subject := range binding.subjects {
			if subject.Kind != rbacv1.ServiceAccountKind || !declared[accountID(subject.Namespace, subject.Name)] {
				findings = append(findings, finding.Finding{
					Object: binding.object.ID(), Field: fmt.Sprintf("subjects[%d]", i), Value: fmt.Sprintf("%s %s/%s", subject.Kind, subject.Namespace, subject.Name),
					Fix: "bind a ServiceAccount that this asset declares",
				})
			}
		}
	}
	return findings
}

// accountsExist: Pods of a workload whose ServiceAccount is missing are never created.
func accountsExist(asset manifest.Asset) []finding.Finding {
	declared := declaredIDs(asset)
	var findings []finding.Finding
	for _, template := range podTemplates(asset) {
		name := template.template.Spec.ServiceAccountName
		if !declared[accountID(template.object.Meta.GetNamespace(), name)] {
			findings = append(findings, finding.Finding{
				Object: template.object.ID(), Field: "spec.template.spec.serviceAccountName", Value: name,
				Fix: "declare the ServiceAccount in this asset, in the workload's namespace",
			})
		}
	}
	return findings
}

func accountID(namespace, name string) string {
	return corev1.SchemeGroupVersion.WithKind(rbacv1.ServiceAccountKind).GroupKind().String() + " " + namespace + "/" + name
}

func declaredIDs(asset manifest.Asset) map[string]bool {
	declared := map[string]bool{}
	for _, object := range asset.Objects {
		declared[object.ID()] = true
	}
	return declared
}
