package blueprint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

func template(modify ...func(*extensionsv1beta1.SandboxTemplate)) *extensionsv1beta1.SandboxTemplate {
	t := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}}
	t.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	for _, change := range modify {
		change(t)
	}
	return t
}

func build(t *extensionsv1beta1.SandboxTemplate) *sandboxv1beta1.Sandbox {
	return Sandbox(t, Origin{Name: "box", Owner: metav1.OwnerReference{Name: "pool", UID: "uid-pool"}})
}

// A2.8, A2.9: what a template leaves open is filled in safely, what it says stands.
func TestSecureDefaults(t *testing.T) {
	public := &corev1.PodDNSConfig{Nameservers: []string{"8.8.8.8", "1.1.1.1"}}
	cases := map[string]struct {
		template *extensionsv1beta1.SandboxTemplate
		token    *bool
		policy   corev1.DNSPolicy
		dns      *corev1.PodDNSConfig
	}{
		"nothing is said": {template(), ptr.To(false), corev1.DNSNone, public},
		"a token is asked for": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Spec.AutomountServiceAccountToken = ptr.To(true)
		}), ptr.To(true), corev1.DNSNone, public},
		"a policy of its own lets the cluster's DNS through": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.NetworkPolicy = &extensionsv1beta1.NetworkPolicySpec{}
		}), ptr.To(false), "", nil},
		"an unmanaged one too": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
		}), ptr.To(false), "", nil},
		"a DNS policy is set": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Spec.DNSPolicy = corev1.DNSClusterFirst
		}), ptr.To(false), corev1.DNSClusterFirst, nil},
		"searches are kept": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Spec.DNSConfig = &corev1.PodDNSConfig{Searches: []string{"example.com"}}
		}), ptr.To(false), corev1.DNSNone, &corev1.PodDNSConfig{Searches: []string{"example.com"}, Nameservers: public.Nameservers}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.template.DeepCopy()
			pod := build(tc.template).Spec.PodTemplate.Spec
			if !ptr.Equal(pod.AutomountServiceAccountToken, tc.token) || pod.DNSPolicy != tc.policy {
				t.Errorf("token %v, policy %q", pod.AutomountServiceAccountToken, pod.DNSPolicy)
			}
			if diff := cmp.Diff(tc.dns, pod.DNSConfig); diff != "" {
				t.Errorf("DNS (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.template); diff != "" {
				t.Errorf("the template itself was changed:\n%s", diff)
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	old := template()
	hash, err := Hash(old)
	if err != nil {
		t.Fatal(err)
	}
	labelled := func() *sandboxv1beta1.Sandbox {
		box := build(old)
		box.Labels[extensionsv1beta1.LabelTemplateHash] = hash
		return box
	}
	cases := map[string]struct {
		now   *extensionsv1beta1.SandboxTemplate
		box   *sandboxv1beta1.Sandbox
		fresh bool
	}{
		"nothing has changed": {old, labelled(), true},
		"the Pod's metadata alone has (A2.14)": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Metadata.Labels = map[string]string{"app": "agent"}
		}), labelled(), true},
		"the Pod's metadata alone has, and there is no hash (A2.14)": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Metadata.Labels = map[string]string{"app": "agent"}
		}), build(old), true},
		"the image has": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Spec.Containers[0].Image = "image:2"
		}), labelled(), false},
		"the disks have (A4.13)": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.VolumeClaimTemplates = []sandboxv1beta1.PersistentVolumeClaimTemplate{{Metadata: sandboxv1beta1.EmbeddedObjectMetadata{Name: "data"}}}
		}), labelled(), false},
		"the Service has": {template(func(t *extensionsv1beta1.SandboxTemplate) { t.Spec.Service = ptr.To(true) }), labelled(), false},
		"the network policy has, and the name servers with it (A2.8)": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
		}), labelled(), false},
		"what was filled in is now said": {template(func(t *extensionsv1beta1.SandboxTemplate) {
			t.Spec.PodTemplate.Spec.AutomountServiceAccountToken = ptr.To(false)
		}), labelled(), true},
		"it is another template":                  {template(func(t *extensionsv1beta1.SandboxTemplate) { t.Name = "other" }), labelled(), false},
		"without a hash, but the same (A3.7)":     {old, build(old), true},
		"without a hash, and not the same (A3.7)": {template(func(t *extensionsv1beta1.SandboxTemplate) { t.Spec.Service = ptr.To(true) }), build(old), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, err := Hash(tc.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := IsFresh(tc.box, tc.now, now); got != tc.fresh {
				t.Errorf("fresh: %v", got)
			}
		})
	}
}

func TestTemplateLabels(t *testing.T) {
	want := map[string]string{
		sandboxv1beta1.LabelTemplateRefHash: names.Hash("agent"), sandboxv1beta1.LabelTemplateRef: names.Digest("agent"),
	}
	if diff := cmp.Diff(want, build(template()).Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(names.Digest("agent")) != 32 {
		t.Errorf("digest %q", names.Digest("agent"))
	}
}
