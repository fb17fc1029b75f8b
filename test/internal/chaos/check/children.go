package check

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

func (s *subject) judgeClaims() {
	name := s.sandbox.Name
	switch {
	case !hasDisk(s.sandbox) && len(s.claims) > 0:
		s.wrong("it has no template and controls %d PersistentVolumeClaims", len(s.claims))
	case s.hasClaim() && len(s.claims) != 1:
		s.wrong("want one PersistentVolumeClaim, there are %d", len(s.claims))
	case s.hasClaim() && s.claims[0].Name != ClaimName(name):
		s.fail(KindClaim, s.claims[0].Name, name, "want the name %s", ClaimName(name))
	case s.hasClaim() && s.claims[0].UID != s.Disks[s.sandbox.UID]:
		s.fail(KindClaim, s.claims[0].Name, name, "its UID is %s, and its Sandbox had one of UID %s first",
			s.claims[0].UID, s.Disks[s.sandbox.UID])
	}
}

func (s *subject) judgeServices() {
	name := s.sandbox.Name
	selector := map[string]string{
		sandboxv1beta1.LabelSandboxNameHash: names.Hash(name), sandboxv1beta1.LabelSandboxUID: string(s.sandbox.UID),
	}
	switch {
	case !s.hasService() && len(s.services) > 0:
		s.wrong("it controls %d Services, want none", len(s.services))
	case s.hasService() && len(s.services) != 1:
		s.wrong("want one Service, there are %d", len(s.services))
	case s.hasService() && s.services[0].Spec.ClusterIP != corev1.ClusterIPNone:
		s.fail(KindService, s.services[0].Name, name, "it is not headless")
	case s.hasService() && !maps.Equal(s.services[0].Spec.Selector, selector):
		s.fail(KindService, s.services[0].Name, name, "it selects %v, want %v", s.services[0].Spec.Selector, selector)
	}
}

// judgeChildren looks at every child by itself: it has to belong to a Sandbox that exists, or to have been left behind.
func (j *judge) judgeChildren() {
	living := map[types.UID]string{}
	for name, s := range j.sandboxes {
		living[s.sandbox.UID] = name
	}
	for _, c := range j.World.Children() {
		if broken := j.whyNotOwned(c, living); broken != "" {
			j.fail(c.Kind, c.Object.GetName(), c.Sandbox, "%s", broken)
		}
		if at := c.Object.GetDeletionTimestamp(); at != nil {
			j.fail(c.Kind, c.Object.GetName(), c.Sandbox, "it has been terminating since %s (finalizers %v)", at.UTC(), c.Object.GetFinalizers())
		}
	}
}

// whyNotOwned is empty for a child that belongs where it is.
func (j *judge) whyNotOwned(c Child, living map[types.UID]string) string {
	owner, account := c.owner(), j.Accounts[c.Sandbox]
	name, exists := living[owner]
	switch {
	case owner != "" && !exists:
		return fmt.Sprintf("its Sandbox (UID %s) does not exist: %s", owner, DescribeOwners(c.Object))
	case owner != "" && name != c.Sandbox:
		return fmt.Sprintf("it belongs to Sandbox %s, of which it does not have the name", name)
	case owner != "" && len(c.Object.GetOwnerReferences()) != 1:
		return "want one owner, it has " + DescribeOwners(c.Object)
	case owner != "":
		return ""
	case account == nil || !account.Orphaned:
		return "it has no owner, and nobody left it behind"
	case j.isWanted(c):
		return "it has no owner, and its Sandbox was to take it over"
	default:
		return ""
	}
}

// isWanted says whether there is a Sandbox that takes the child over.
func (j *judge) isWanted(c Child) bool {
	s := j.sandboxes[c.Sandbox]
	if s == nil {
		return false
	}
	switch c.Kind {
	case KindPod:
		return s.hasPod()
	case KindClaim:
		return hasDisk(s.sandbox) && !s.expired()
	default:
		return s.hasService()
	}
}

// DescribeOwners names the owners of an object; nobody without any.
func DescribeOwners(object metav1.Object) string {
	var all []string
	for _, ref := range object.GetOwnerReferences() {
		all = append(all, fmt.Sprintf("%s %s (UID %s)", ref.Kind, ref.Name, ref.UID))
	}
	return cmp.Or(strings.Join(all, ", "), "nobody")
}

func describePods(pods []*corev1.Pod) string {
	var all []string
	for _, pod := range pods {
		text := fmt.Sprintf("%s (UID %s, %s)", pod.Name, pod.UID, pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			text += " terminating"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
