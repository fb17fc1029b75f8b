package claims

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
)

func (j *Judge) seeClaim(c sighting.Change, before, after *extensionsv1beta1.SandboxClaim) {
	if before != nil && !c.Unseen && before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil) {
		j.judgeEnd(before)
	}
	if after == nil {
		delete(j.claims, before.UID)
		return
	}
	b := j.claims[after.UID]
	if b == nil {
		b = &binding{}
		j.claims[after.UID] = b
		j.figures.Made++
	}
	if before == nil {
		before = &extensionsv1beta1.SandboxClaim{}
	}
	if now := discarding(after); now != "" && now != discarding(before) {
		j.figures.Discards++
	}
	j.judgePublished(b, before, after)
	b.claim, b.lost = after, b.lost && !isExpired(after)
}

// judgeEnd : a claim is deleted by its user, or once it has expired.
func (j *Judge) judgeEnd(claim *extensionsv1beta1.SandboxClaim) {
	if !j.deeds.Deleted(claim.UID) && !isExpired(claim) {
		j.fail(KindClaim, claim.Name, claim.Name, claim.Status.Sandbox.Name, "it is deleted (UID %s), no user asked for that, and it has not expired", claim.UID)
	}
}

// judgePublished : the name never changes while its Sandbox exists, unless the claim expires, and is that of a Sandbox of the claim
// that is to stay.
func (j *Judge) judgePublished(b *binding, before, after *extensionsv1beta1.SandboxClaim) {
	was, is := before.Status.Sandbox.Name, after.Status.Sandbox.Name
	now := j.sandboxes[j.names[is]]
	if was == is {
		// Another Sandbox of the same name is published with the word that it is Ready.
		if is != "" && b.published == "" && now != nil && isReady(after) {
			j.publish(b, after, now)
		}
		return
	}
	if old := j.sandboxes[b.published]; old != nil && !isExpired(after) {
		j.fail(KindClaim, after.Name, after.Name, old.Name, "it has published Sandbox %q, which exists (UID %s), and changes that to %q", was, old.UID, is)
	}
	b.published = ""
	if is == "" || now == nil {
		return
	}
	if now.UID == discarding(before) || now.UID == discarding(after) {
		j.fail(KindClaim, after.Name, after.Name, is, "it publishes Sandbox %s (UID %s), which it has said it will delete", is, now.UID)
	}
	j.publish(b, after, now)
}

func (j *Judge) publish(b *binding, claim *extensionsv1beta1.SandboxClaim, sandbox *sandboxv1beta1.Sandbox) {
	if ref := ownerOf(sandbox, KindClaim); ref == nil || ref.UID != claim.UID {
		j.fail(KindClaim, claim.Name, claim.Name, sandbox.Name, "it publishes Sandbox %s (UID %s), which belongs to %s", sandbox.Name, sandbox.UID, check.DescribeOwners(sandbox))
		return
	}
	b.published = sandbox.UID
	if b.lost {
		j.figures.Replaced++
		b.lost = false
	}
	if sandbox.Labels[sandboxv1beta1.LabelLaunchType] == sandboxv1beta1.LaunchTypeWarm {
		j.figures.Warm++
	} else {
		j.figures.Cold++
	}
}

func discarding(claim *extensionsv1beta1.SandboxClaim) types.UID {
	return types.UID(claim.Annotations[extensionsv1beta1.AnnotationDiscarding])
}

func isExpired(claim *extensionsv1beta1.SandboxClaim) bool {
	ready := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return ready != nil && ready.Reason == extensionsv1beta1.ReasonClaimExpired
}

func isReady(claim *extensionsv1beta1.SandboxClaim) bool {
	return meta.IsStatusConditionTrue(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
}
