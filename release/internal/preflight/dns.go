package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// defaultDomain is what the core's controller takes without the flag.
	defaultDomain = "cluster.local"
	domainFlag    = "cluster-domain"
)

func checkDNS(seen Seen, target Target) []Finding {
	const object = "Service kube-system/kube-dns"
	var findings []Finding
	unknown := seen.SystemServices.unknown(object)
	switch isDNS := func(service corev1.Service) bool {
		return service.Labels["k8s-app"] == "kube-dns" || service.Name == "kube-dns"
	}; {
	case unknown != nil:
		findings = unknown
	case slices.ContainsFunc(seen.SystemServices.Value, isDNS):
		findings = []Finding{ok(object, "the cluster has its DNS here")}
	default:
		findings = []Finding{warning(object, "it is not there: nothing resolves the name of a Sandbox with service: true, unless the cluster has its DNS elsewhere")}
	}
	return append(findings, checkDomain(seen, target)...)
}

// checkDomain compares the domain that CoreDNS serves with the one that the controllers put into status.serviceFQDN. Where CoreDNS is
// configured elsewhere, nothing can be told.
func checkDomain(seen Seen, target Target) []Finding {
	const object = "cluster domain"
	if unknown := seen.CoreDNS.unknown(object); unknown != nil {
		return unknown
	}
	if seen.CoreDNS.Value == nil {
		return nil
	}
	domains := domainsOf(seen.CoreDNS.Value.Data["Corefile"])
	told := toldDomain(seen, target)
	switch {
	case len(domains) == 0:
		return nil
	case slices.Contains(domains, told):
		return []Finding{ok(object, "it is %s, as the controller has it", told)}
	}
	if unknown := seen.Settings.unknown(object); unknown != nil {
		return unknown
	}
	return []Finding{warning(object,
		"it is %s, and the controller takes %s: status.serviceFQDN of Sandboxes names what nothing resolves. Tell the controller by --%s, or in a ConfigMap that is read at the start", domains[0], told, domainFlag).
		with(setDomain(seen, target, domains[0])...)}
}

func setDomain(seen Seen, target Target, domain string) []string {
	if seen.Settings.Value != nil {
		return []string{fmt.Sprintf(`kubectl --namespace %s patch configmap %s --type=merge --patch '{"data":{"%s":"%s"}}'`, target.namespace, settings, domainFlag, domain)}
	}
	var commands []string
	if seen.Namespace.Value == nil {
		commands = append(commands, "kubectl create namespace "+target.namespace)
	}
	return append(commands, fmt.Sprintf("kubectl --namespace %s create configmap %s --from-literal=%s=%s", target.namespace, settings, domainFlag, domain))
}

// domainsOf are those that CoreDNS's plugin kubernetes serves, by its configuration, but for the ones of addresses.
func domainsOf(corefile string) []string {
	var domains []string
	for line := range strings.Lines(corefile) {
		words := strings.Fields(strings.TrimRight(strings.TrimSpace(line), "{"))
		if len(words) < 2 || words[0] != "kubernetes" {
			continue
		}
		for _, zone := range words[1:] {
			zone = strings.TrimSuffix(zone, ".")
			if zone != "" && !strings.HasSuffix(zone, "in-addr.arpa") && !strings.HasSuffix(zone, "ip6.arpa") {
				domains = append(domains, zone)
			}
		}
	}
	return domains
}

// toldDomain is what the core's controller was told: by a flag, else by the ConfigMap, else the default.
func toldDomain(seen Seen, target Target) string {
	for _, deployment := range seen.Deployments.Value {
		if deployment.Namespace != target.namespace || deployment.Name != controllerNames()[0] {
			continue
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			for _, arg := range container.Args {
				if domain, found := strings.CutPrefix(arg, "--"+domainFlag+"="); found {
					return domain
				}
			}
		}
	}
	if seen.Settings.Value != nil && seen.Settings.Value.Data[domainFlag] != "" {
		return seen.Settings.Value.Data[domainFlag]
	}
	return defaultDomain
}
