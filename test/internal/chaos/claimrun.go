package chaos

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
)

// ClaimFigures are what a run about claims counts.
type ClaimFigures struct {
	Names int `json:"names"`
	// Forgotten are the Sandboxes in the end that the garbage collector of Kubernetes has left, see claims.Account.
	Forgotten int `json:"forgotten"`
	claims.Figures
}

// claimRun is a run about claims.
type claimRun struct {
	*play
	judging  *claims.Judge
	watch    *sighting.Watch
	accounts map[string]*claims.Account
	numbers  map[string]int // of claims, by name
	keeper   *keeper
	// forgotten is what the last judgement found.
	forgotten int
}

func (p *play) newClaims(ctx context.Context, broken func(check.Violation)) (*claimRun, error) {
	tell := func(v check.Violation) {
		v.History = p.diary.about(v.Claim, v.Sandbox)
		broken(v)
	}
	r := &claimRun{
		play: p, judging: claims.NewJudge(p.deeds, batch, tell), accounts: map[string]*claims.Account{}, numbers: map[string]int{},
		keeper: newKeeper(p),
	}
	for i := range p.settings.Names {
		name := fmt.Sprintf("claim-%04d", i)
		r.accounts[name], r.numbers[name] = &claims.Account{}, i
	}
	watching, err := sighting.NewClient(p.stage.Config)
	if err != nil {
		return nil, err
	}
	r.watch, err = sighting.Start(ctx, watching, p.settings.namespace(), r.see,
		&sandboxv1beta1.SandboxList{}, &extensionsv1beta1.SandboxClaimList{}, &extensionsv1beta1.SandboxWarmPoolList{})
	if err != nil {
		return nil, err
	}
	return r, r.keeper.makeAll(ctx)
}

// see notes a change and has it judged.
func (r *claimRun) see(c sighting.Change) {
	switch object := c.Object().(type) {
	case *sandboxv1beta1.Sandbox:
		r.diary.note(object.Name, "%s %s", describeChange(c), describeSandbox(object))
	case *extensionsv1beta1.SandboxClaim:
		r.diary.note(object.Name, "%s %s", describeChange(c), describeClaim(object))
	case *extensionsv1beta1.SandboxWarmPool:
		r.diary.note(object.Name, "%s %s", describeChange(c), describePool(object))
	}
	r.judging.See(c)
}

// work implements subject. What is done to one claim waits for what was done to it before, and for nothing else.
func (r *claimRun) work(ctx context.Context, began time.Time) error {
	group, working := errgroup.WithContext(ctx)
	for name, number := range r.numbers {
		u := &claimUser{play: r.play, pools: r.keeper.pools, name: name, account: r.accounts[name]}
		actions := schedule.ClaimActions(r.settings.Seed, number, len(r.keeper.pools), r.settings.Duration)
		group.Go(func() error { return u.run(working, actions, began) })
	}
	group.Go(func() error { return r.keeper.run(working, began) })
	return group.Wait()
}

// judge implements subject.
func (r *claimRun) judge(ctx context.Context) (look, error) {
	var world claims.World
	err := r.persist(ctx, func() (err error) {
		world, err = claims.Read(ctx, r.client, r.settings.namespace())
		return err
	})
	if err != nil {
		return look{}, err
	}
	c := claims.Case{World: world, Accounts: r.accounts, Pools: r.keeper.sizes(), Now: time.Now()}
	found := c.Violations()
	r.forgotten = len(c.Forgotten())
	if waiting := r.watch.Waiting(); waiting > 0 {
		found = append(found, check.Violation{Kind: "Watch", Broken: fmt.Sprintf("%d changes are not judged yet", waiting)})
	}
	if late := r.watch.Late(); late > 0 {
		found = append(found, check.Violation{Kind: "Watch", Broken: fmt.Sprintf(
			"%d changes were told after later ones had been judged: what was judged cannot be relied upon", late)})
	}
	return look{found: found, latest: r.watch.Latest()}, nil
}

// living implements subject.
func (r *claimRun) living() int { return r.judging.Living() }

// conclude implements subject. The violations that were found are told with the requests that deleted what they are about.
func (r *claimRun) conclude(into *Result, requests audit.Counts) []check.Violation {
	into.Claims = &ClaimFigures{Names: r.settings.Names, Figures: r.judging.Figures(), Forgotten: r.forgotten}
	r.amend(func(v *check.Violation) {
		deletes := requests.By(func(k audit.Kind) string {
			return fmt.Sprintf("%s asked to delete %s %s: %d", k.User, k.Resource, k.Name, k.Code)
		}, func(k audit.Kind) bool {
			return k.Verb == "delete" && (k.Resource == "sandboxes" && k.Name == v.Sandbox || k.Resource == "sandboxclaims" && k.Name == v.Claim)
		})
		for line, n := range deletes {
			v.History = append(v.History, fmt.Sprintf("audit log: %s (%d times)", line, n))
		}
	})
	return nil
}
