package blueprint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestDomainsOfLabels(t *testing.T) {
	cases := map[string]struct {
		text  string
		want  LabelDomains
		wrong string
	}{
		"none":              {"", DefaultLabelDomains(), ""},
		"blanks and commas": {" ,\n\t, ", DefaultLabelDomains(), ""},
		"one":               {"example.com", LabelDomains{"example.com"}, ""},
		"by commas":         {"example.com, example.org", LabelDomains{"example.com", "example.org"}, ""},
		"by lines":          {"example.com\r\nexample.org\n", LabelDomains{"example.com", "example.org"}, ""},
		"no domain":         {"example.com,exa mple", nil, `"exa mple"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseLabelDomains(tc.text)
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("err = %v, want %q", err, tc.wrong)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("domains (-want +got):\n%s", diff)
			}
		})
	}
}

// A3.20, A3.21: a claim labels its Pod under the domains that are allowed, and tells the cluster nothing but whether the Pod may go.
func TestMetadataThatAClaimAdds(t *testing.T) {
	base := sandboxv1beta1.PodMetadata{
		Labels: map[string]string{"sandbox.users.io/tier": "free"}, Annotations: map[string]string{"example.com/note": "by the template"},
	}
	label := func(key, value string) sandboxv1beta1.PodMetadata {
		return sandboxv1beta1.PodMetadata{Labels: map[string]string{key: value}}
	}
	annotation := func(key, value string) sandboxv1beta1.PodMetadata {
		return sandboxv1beta1.PodMetadata{Annotations: map[string]string{key: value}}
	}
	cases := map[string]struct {
		added sandboxv1beta1.PodMetadata
		want  []string // parts of the refusal; none: it is granted
	}{
		"nothing":                                {},
		"a label of the domain":                  {label("sandbox.users.io/team", "a"), nil},
		"a label of a subdomain":                 {label("eu.sandbox.users.io/team", "a"), nil},
		"a label of a domain that ends alike":    {label("evilsandbox.users.io/team", "a"), []string{`labels["evilsandbox.users.io/team"]`, "sandbox.users.io"}},
		"a label without a domain":               {label("team", "a"), []string{`labels["team"]`, "sandbox.users.io"}},
		"the router's label":                     {label("app", "sandbox-router"), []string{"passes for the router"}},
		"a label of the system":                  {label("agents.x-k8s.io/claim-uid", "a"), []string{"belongs to the cluster"}},
		"a value with a blank":                   {label("sandbox.users.io/team", "a b"), []string{`"a b" is no label value`}},
		"a key that is none":                     {label("sandbox.users.io/", "a"), []string{"is no label key"}},
		"the template's label with its value":    {label("sandbox.users.io/tier", "free"), nil},
		"the template's label with another":      {label("sandbox.users.io/tier", "paid"), []string{`"free"`, "leave it out"}},
		"an annotation":                          {annotation("example.com/why", "any text"), nil},
		"an annotation without a domain":         {annotation("why", "any text"), nil},
		"whether the Pod may be evicted":         {annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), nil},
		"an annotation of the cluster":           {annotation("kubernetes.io/ingress-bandwidth", "1M"), []string{"belongs to the cluster"}},
		"an annotation below one of those":       {annotation("container.apparmor.security.beta.kubernetes.io/main", "unconfined"), []string{"belongs to the cluster"}},
		"an annotation of the system":            {annotation("extensions.agents.x-k8s.io/x", "a"), []string{"belongs to the cluster"}},
		"a trace":                                {annotation("opentelemetry.io/trace-context", "a"), []string{"belongs to the cluster"}},
		"an annotation that is none":             {annotation("no key", "a"), []string{"no key"}},
		"the template's annotation with another": {annotation("example.com/note", "mine"), []string{`"by the template"`}},
		"more than an object holds":              {annotation("example.com/long", strings.Repeat("x", 300000)), []string{"annotations"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			refused := DefaultLabelDomains().CheckMetadata(tc.added, base)
			if (refused == nil) != (len(tc.want) == 0) {
				t.Fatalf("refused: %+v, want %q", refused, tc.want)
			}
			for _, part := range tc.want {
				if refused.Reason != extensionsv1beta1.ReasonInvalidMetadata || !strings.Contains(refused.Message, part) {
					t.Errorf("refused: %+v, want %q", refused, part)
				}
			}
		})
	}
}
