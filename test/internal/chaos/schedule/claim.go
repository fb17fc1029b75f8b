package schedule

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// What users do to claims beside Create, Expire, Revive, Delete and Recreate, and to pools and templates.
const (
	// DeleteSandbox deletes the Sandbox that a claim has published.
	DeleteSandbox Kind = "delete Sandbox of claim"
	// Scale sets the replicas of a pool.
	Scale Kind = "scale pool"
	// EditTemplate changes the blueprint of a template.
	EditTemplate Kind = "edit template"
	// DeleteMember deletes a member of a pool.
	DeleteMember Kind = "delete member"
)

// ClaimKinds returns all kinds of a run about claims, in the order in which they are reported.
func ClaimKinds() []Kind {
	return []Kind{Create, Expire, Revive, Delete, Recreate, DeleteSandbox, Scale, EditTemplate, DeleteMember}
}

// ClaimShape is how a claim is created.
type ClaimShape struct {
	Pool int // its number
	// Env and Disk are asked for by the claim itself, which then starts cold.
	Env, Disk bool
	// Shutdown is the time from its creation to its shutdownTime; 0: it has none.
	Shutdown time.Duration
	Policy   extensionsv1beta1.ShutdownPolicy // with Shutdown
}

// ClaimAction is one thing that a user does to a claim.
type ClaimAction struct {
	At   time.Duration // since the begin of the run
	Kind Kind
	// Shape is that of the claim to make, for Create and Recreate.
	Shape ClaimShape
	// Shutdown and Policy are for Expire: the time until the shutdownTime, and what happens then.
	Shutdown time.Duration
	Policy   extensionsv1beta1.ShutdownPolicy
	// Cascade is for Delete, Recreate and DeleteSandbox.
	Cascade metav1.DeletionPropagation
}

// String says what is done, for people.
func (a ClaimAction) String() string {
	switch a.Kind {
	case Create:
		return fmt.Sprintf("%s %+v", a.Kind, a.Shape)
	case Recreate:
		return fmt.Sprintf("%s (%s) %+v", a.Kind, a.Cascade, a.Shape)
	case Delete, DeleteSandbox:
		return fmt.Sprintf("%s (%s)", a.Kind, a.Cascade)
	case Expire:
		return fmt.Sprintf("%s in %s (%s)", a.Kind, a.Shutdown, a.Policy)
	default:
		return string(a.Kind)
	}
}

const (
	// firstClaims is the share of a run in which claims are made for the first time.
	firstClaims = 0.9
	// longestStay bounds the time between two things that are done to a claim.
	longestStay = 20 * time.Second
	// claimants is the number of the first actor that uses a claim.
	claimants = uint64(1) << 32
)

// claimUser draws what is done to one claim.
type claimUser struct {
	user
	pools int
	state state
	made  bool
}

// ClaimActions returns what the user of one claim does in a run of that length. Claims, and the pools to take from, are numbered
// from 0.
func ClaimActions(seed uint64, number, pools int, length time.Duration) []ClaimAction {
	u := claimUser{user: user{random: newRandom(seed, claimants+uint64(number))}, pools: pools} //nolint:gosec // It is not negative.
	at := u.upTo(time.Duration(firstClaims * float64(length)))
	var actions []ClaimAction
	for ; at < length; at += u.upTo(longestStay) {
		action, ends := u.next()
		if ends {
			break
		}
		action.At = at
		actions = append(actions, action)
	}
	return actions
}

// stay is that nothing more is done to a claim.
const stay Kind = ""

// choices are what may be done in a state. The claim may be absent because it was never made.
func (u *claimUser) choices() []weighted {
	switch {
	case u.state == absent && !u.made:
		return []weighted{{Create, 1}}
	case u.state == absent:
		return []weighted{{stay, 75}, {Create, 25}}
	case u.state == living:
		return []weighted{{stay, 18}, {Delete, 28}, {Recreate, 8}, {Expire, 26}, {DeleteSandbox, 14}, {Revive, 6}}
	case u.state == expired:
		return []weighted{{stay, 20}, {Revive, 50}, {Delete, 20}, {Recreate, 10}}
	default:
		return []weighted{{stay, 40}, {Revive, 30}, {Create, 20}, {Delete, 10}}
	}
}

// next draws an action; the other result says that there is none any more.
func (u *claimUser) next() (ClaimAction, bool) {
	action := ClaimAction{Kind: u.choose(u.choices())}
	u.made = true
	switch action.Kind {
	case stay:
		return action, true
	case Create, Recreate:
		action.Shape = u.shape()
	case Expire:
		action.Shutdown, action.Policy = u.expiry()
	}
	switch action.Kind {
	case Delete, Recreate, DeleteSandbox:
		action.Cascade = metav1.DeletePropagationBackground
		if u.percent(30) {
			action.Cascade = metav1.DeletePropagationForeground
		}
	}
	u.follow(action)
	return action, false
}

func (u *claimUser) shape() ClaimShape {
	s := ClaimShape{Pool: u.random.IntN(u.pools), Env: u.percent(8), Disk: u.percent(8)}
	if u.percent(15) {
		s.Shutdown, s.Policy = u.expiry()
		s.Shutdown += time.Second
	}
	return s
}

func (u *claimUser) expiry() (time.Duration, extensionsv1beta1.ShutdownPolicy) {
	policies := []extensionsv1beta1.ShutdownPolicy{
		extensionsv1beta1.ShutdownPolicyRetain, extensionsv1beta1.ShutdownPolicyRetain,
		extensionsv1beta1.ShutdownPolicyDelete, extensionsv1beta1.ShutdownPolicyDeleteForeground,
	}
	policy := policies[u.random.IntN(len(policies))]
	if u.percent(50) {
		return 0, policy
	}
	return u.upTo(longestExpiry), policy
}

// follow sets what the claim is meant to be after the action.
func (u *claimUser) follow(a ClaimAction) {
	switch a.Kind {
	case Create, Recreate:
		u.state = living
		if a.Shape.Shutdown > 0 {
			u.state = claimAfterExpiry(a.Shape.Policy)
		}
	case Delete:
		u.state = absent
	case Expire:
		u.state = claimAfterExpiry(a.Policy)
	case Revive:
		if u.state == expired {
			u.state = living
		}
	}
}

func claimAfterExpiry(policy extensionsv1beta1.ShutdownPolicy) state {
	if policy == extensionsv1beta1.ShutdownPolicyRetain {
		return expired
	}
	return doubtful
}
