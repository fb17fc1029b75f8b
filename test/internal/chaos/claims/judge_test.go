package claims_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
)

// court is a Judge that is shown changes, and what it found broken.
type court struct {
	*claims.Judge
	deeds *claims.Deeds
	known map[string]client.Object
	at    time.Time
	found []string
}

func newCourt() *court {
	c := &court{deeds: claims.NewDeeds(), known: map[string]client.Object{}, at: now()}
	c.Judge = claims.NewJudge(c.deeds, 2, func(v check.Violation) { c.found = append(c.found, v.String()) })
	return c
}

func keyOf(object client.Object) string {
	switch object.(type) {
	case *extensionsv1beta1.SandboxClaim:
		return "claim " + object.GetName()
	case *extensionsv1beta1.SandboxWarmPool:
		return "pool " + object.GetName()
	default:
		return object.GetName()
	}
}

// is shows objects as they are now.
func (c *court) is(objects ...client.Object) {
	for _, object := range objects {
		c.See(sighting.Change{Before: c.known[keyOf(object)], After: object, Seen: c.at})
		c.known[keyOf(object)] = object
	}
}

// gone shows that an object is not there any more.
func (c *court) gone(object client.Object) {
	c.See(sighting.Change{Before: object, Seen: c.at})
	delete(c.known, keyOf(object))
}

// bound is a claim that has taken and published a member.
func (c *court) bound() {
	c.is(thePool(3), claim("a"), sandbox("box", ofPool()), sandbox("box", ofClaim("a")), claim("a", having("box")))
}

func TestJudgeFindsWhatMustNeverBe(t *testing.T) {
	cases := map[string]struct {
		happens func(*court)
		want    string
	}{
		"a claim that takes a member, publishes it, and is deleted by its user": {func(c *court) {
			c.bound()
			c.deeds.Delete("a")
			c.gone(claim("a", having("box")))
			c.gone(sandbox("box", ofClaim("a")))
		}, ""},
		"a Sandbox that goes from one claim to another": {func(c *court) {
			c.bound()
			c.is(sandbox("box", ofClaim("b")))
		}, `Sandbox box: Sandbox "box" (box) was given to several claims`},
		"the same, with no claim in between": {func(c *court) {
			c.is(sandbox("box", ofClaim("a")), sandbox("box"), sandbox("box", ofClaim("b")))
		}, `Sandbox box: Sandbox "box" (box) was given to several claims`},
		"a Sandbox that goes back to its pool": {func(c *court) {
			c.bound()
			c.is(sandbox("box", ofPool()))
		}, "Sandbox box: it changes hands from SandboxClaim a (UID a) to SandboxWarmPool pool (UID pool-uid)"},
		"a Sandbox that nobody's claim takes": {func(c *court) {
			c.is(sandbox("box"), sandbox("box", ofClaim("a")))
		}, "Sandbox box: it changes hands from nobody to SandboxClaim a (UID a)"},
		"a Sandbox with two claims": {func(c *court) {
			second := ofClaim("b")
			second.Controller = nil
			c.is(sandbox("box", ofClaim("a"), second))
		}, "Sandbox box: it has 2 claims"},
		"a member that is taken on its way out": {func(c *court) {
			c.is(thePool(3), claim("a"), sandbox("box", ofPool()), going(sandbox("box", ofPool())), going(sandbox("box", ofClaim("a"))))
		}, "Sandbox box: claim a takes it while it is on its way out"},
		"a published name that changes": {func(c *court) {
			c.bound()
			c.is(sandbox("other", ofClaim("a")), claim("a", having("other")))
		}, `SandboxClaim a: it has published Sandbox "box", which exists (UID box), and changes that to "other"`},
		"a published name that is taken back": {func(c *court) {
			c.bound()
			c.is(claim("a"))
		}, `SandboxClaim a: it has published Sandbox "box", which exists (UID box), and changes that to ""`},
		"a published name that expiry clears": {func(c *court) {
			c.bound()
			c.is(claim("a", expired))
			c.gone(sandbox("box", ofClaim("a")))
		}, ""},
		"a published name that changes once a user has deleted the Sandbox": {func(c *court) {
			c.bound()
			c.deeds.Delete("box")
			c.gone(sandbox("box", ofClaim("a")))
			c.is(sandbox("other", ofClaim("a")), claim("a", having("other")))
		}, ""},
		"a published Sandbox that somebody else deletes": {func(c *court) {
			c.bound()
			c.gone(sandbox("box", ofClaim("a")))
		}, "Sandbox box: it is deleted (UID box), no user asked for that, and claim a has published it"},
		"the same, by degrees": {func(c *court) {
			c.bound()
			c.is(going(sandbox("box", ofClaim("a"))))
		}, "Sandbox box: it is deleted (UID box), no user asked for that, and claim a has published it"},
		"a second Sandbox of a published name that somebody else deletes": {func(c *court) {
			c.bound()
			c.deeds.Delete("box")
			c.gone(sandbox("box", ofClaim("a")))
			second := sandbox("box", ofClaim("a"))
			second.UID = "box-2"
			c.is(second, claim("a", having("box")))
			c.gone(second)
		}, "Sandbox box: it is deleted (UID box-2), no user asked for that"},
		"an extra Sandbox that is discarded": {func(c *court) {
			c.bound()
			c.is(sandbox("other", ofClaim("a")), claim("a", having("box"), discarding("other")))
			c.gone(sandbox("other", ofClaim("a")))
		}, ""},
		"a Sandbox that is published by a claim which has said that it will delete it": {func(c *court) {
			c.is(claim("a"), sandbox("box", ofClaim("a")), claim("a", discarding("box")), claim("a", having("box"), discarding("box")))
		}, "SandboxClaim a: it publishes Sandbox box (UID box), which it has said it will delete"},
		"a Sandbox that is published by another claim": {func(c *court) {
			c.bound()
			c.is(claim("b"), claim("b", having("box")))
		}, "SandboxClaim b: it publishes Sandbox box (UID box), which belongs to SandboxClaim a (UID a)"},
		"a claim that somebody else deletes": {func(c *court) {
			c.bound()
			c.is(going(claim("a", having("box"))))
		}, "SandboxClaim a: it is deleted (UID a), no user asked for that, and it has not expired"},
		"a claim that is deleted as it has expired": {func(c *court) {
			c.bound()
			c.is(claim("a", expired))
			c.gone(claim("a", expired))
		}, ""},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCourt()
			tt.happens(c)
			checkFound(t, c.found, tt.want)
		})
	}
}

func checkFound(t *testing.T, found []string, want string) {
	t.Helper()
	if text := strings.Join(found, "\n"); !strings.Contains(text, want) || (want == "") != (text == "") {
		t.Errorf("found %q, want %q", text, want)
	}
}

func TestJudgeCountsMembers(t *testing.T) {
	cases := map[string]struct {
		happens func(*court)
		want    string
	}{
		"as many as were asked for": {func(c *court) { c.is(thePool(2)) }, ""},
		"one more":                  {func(c *court) { c.is(thePool(1)) }, "SandboxWarmPool pool: it has 2 members with Sandbox two, and asked for 1 at most, with 0 processes astray"},
		"one more, on its way out": {func(c *court) {
			c.is(thePool(1), sandbox("one", ofPool()), going(sandbox("one", ofPool())))
		}, "SandboxWarmPool pool: it has 2 members"},
		"one for another that a claim has taken": {func(c *court) {
			c.is(thePool(2), claim("a"), sandbox("zero", ofPool()), sandbox("zero", ofClaim("a")))
		}, ""},
		"one for another that is gone": {func(c *court) {
			c.is(thePool(2), sandbox("zero", ofPool()))
			c.gone(sandbox("zero", ofPool()))
		}, ""},
		"as many as were asked for a moment ago": {func(c *court) {
			c.is(thePool(2))
			c.at = c.at.Add(time.Hour)
			c.is(thePool(1))
			c.at = c.at.Add(time.Second)
		}, ""},
		"as many as were asked for long ago": {func(c *court) {
			c.is(thePool(2), thePool(1))
			c.at = c.at.Add(time.Hour)
		}, "SandboxWarmPool pool: it has 2 members"},
		"one more, just after a process ended": {func(c *court) {
			c.is(thePool(1))
			c.deeds.Stray(c.at)
		}, ""},
		"one more, long after a process ended": {func(c *court) {
			c.is(thePool(1))
			c.deeds.Stray(c.at)
			c.at = c.at.Add(time.Hour)
		}, "SandboxWarmPool pool: it has 2 members"},
		"more than a process may have made that ended": {func(c *court) {
			c.is(thePool(1), sandbox("three", ofPool()))
			c.deeds.Stray(c.at)
			c.is(sandbox("four", ofPool()))
		}, "SandboxWarmPool pool: it has 4 members"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCourt()
			tt.happens(c)
			c.is(sandbox("one", ofPool()), sandbox("two", ofPool()))
			checkFound(t, c.found, tt.want)
		})
	}
}

func TestJudgeLeavesOpenWhatNobodySaw(t *testing.T) {
	c := newCourt()
	c.bound()
	c.See(sighting.Change{Before: sandbox("box", ofClaim("a")), Seen: c.at, Unseen: true})
	checkFound(t, c.found, "")
	if unseen := c.Figures().Unseen; unseen != 1 {
		t.Errorf("%d changes that nobody saw, want 1", unseen)
	}
}

func TestJudgeCounts(t *testing.T) {
	c := newCourt()
	c.bound()
	c.deeds.Delete("box")
	c.gone(sandbox("box", ofClaim("a")))
	cold := sandbox("a", ofClaim("a"))
	cold.Labels = nil
	c.is(cold, claim("a", having("a")), claim("a", having("a"), discarding(string(types.UID("x")))))
	want := claims.Figures{Made: 1, Warm: 1, Cold: 1, Adoptions: 1, Replaced: 1, Discards: 1}
	if diff := cmp.Diff(want, c.Figures()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if c.Living() != 1 {
		t.Errorf("%d Sandboxes, want 1", c.Living())
	}
}
