package claims

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
)

func (j *Judge) seeSandbox(c sighting.Change, before, after *sandboxv1beta1.Sandbox) {
	if before != nil && !c.Unseen && before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil) {
		j.judgeDeletion(before)
	}
	if after == nil {
		j.forget(before)
		return
	}
	j.judgeOwners(before, after)
	j.move(before, after)
	j.sandboxes[after.UID], j.names[after.Name] = after, after.UID
	if before == nil {
		j.judgePopulation(c, after)
	}
}

// forget takes in the end of a Sandbox.
func (j *Judge) forget(gone *sandboxv1beta1.Sandbox) {
	delete(j.sandboxes, gone.UID)
	if j.names[gone.Name] == gone.UID {
		delete(j.names, gone.Name)
	}
	if ref := ownerOf(gone, KindPool); ref != nil {
		delete(j.population(ref.UID).members, gone.UID)
	}
	if ref := ownerOf(gone, KindClaim); ref != nil {
		if b := j.claims[ref.UID]; b != nil && b.published == gone.UID {
			b.published, b.lost = "", !isExpired(b.claim)
		}
	}
}

// judgeDeletion : what a claim has published is not deleted before that claim expires or goes, unless a user does it.
func (j *Judge) judgeDeletion(sandbox *sandboxv1beta1.Sandbox) {
	ref := ownerOf(sandbox, KindClaim)
	if ref == nil {
		return
	}
	b := j.claims[ref.UID]
	if b == nil || b.published != sandbox.UID || b.claim.DeletionTimestamp != nil || isExpired(b.claim) || j.deeds.Deleted(sandbox.UID) {
		return
	}
	j.fail(KindSandbox, sandbox.Name, ref.Name, sandbox.Name,
		"it is deleted (UID %s), no user asked for that, and claim %s has published it", sandbox.UID, ref.Name)
}

// judgeOwners : a Sandbox has one claim at most, ever; it goes from its pool to a claim once, while it stays, and no other way.
func (j *Judge) judgeOwners(before, after *sandboxv1beta1.Sandbox) {
	claims := 0
	for _, ref := range after.OwnerReferences {
		if ref.Kind == KindClaim {
			claims++
		}
	}
	if claims > 1 {
		j.fail(KindSandbox, after.Name, "", after.Name, "it has %d claims: %s", claims, check.DescribeOwners(after))
	}
	j.ledger.SeeSandbox(after)
	if err := j.ledger.GivenTwice(after); err != nil {
		j.fail(KindSandbox, after.Name, "", after.Name, "%s", err)
	}
	if before == nil {
		return
	}
	was, is := metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)
	switch {
	case was == nil && is == nil, was != nil && is != nil && was.UID == is.UID:
	case was == nil || is == nil || was.Kind != KindPool || is.Kind != KindClaim:
		j.fail(KindSandbox, after.Name, "", after.Name, "it changes hands from %s to %s", check.DescribeOwners(before), check.DescribeOwners(after))
	case before.DeletionTimestamp != nil:
		j.fail(KindSandbox, after.Name, is.Name, after.Name, "claim %s takes it while it is on its way out", is.Name)
	default:
		j.figures.Adoptions++
	}
}

// move keeps the members of pools.
func (j *Judge) move(before, after *sandboxv1beta1.Sandbox) {
	if before != nil {
		if ref := ownerOf(before, KindPool); ref != nil {
			delete(j.population(ref.UID).members, before.UID)
		}
	}
	if ref := ownerOf(after, KindPool); ref != nil {
		j.population(ref.UID).members[after.UID] = true
	}
}

// judgePopulation : a pool gets no member beyond what it asks for, and a batch of each process that was astray of late.
func (j *Judge) judgePopulation(c sighting.Change, made *sandboxv1beta1.Sandbox) {
	ref := ownerOf(made, KindPool)
	if ref == nil || c.Unseen {
		return
	}
	p := j.population(ref.UID)
	from := c.Seen.Add(-recently)
	astray := j.deeds.Astray(from, c.Seen)
	asked := p.most(from)
	if most := asked + astray*j.batch; len(p.members) > most {
		j.fail(KindPool, ref.Name, "", made.Name, "it has %d members with Sandbox %s, and asked for %d at most, with %d processes astray",
			len(p.members), made.Name, asked, astray)
	}
}
