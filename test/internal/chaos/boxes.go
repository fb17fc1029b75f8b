package chaos

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

// users of Sandboxes work at the same time.
const users = 10

// boxes is a run about Sandboxes that users make.
type boxes struct {
	*play
	observer *observer
	accounts map[string]*check.Account
}

func (p *play) newBoxes(ctx context.Context, broken func(check.Violation)) (*boxes, error) {
	b := &boxes{play: p, observer: newObserver(p.diary, broken), accounts: map[string]*check.Account{}}
	for _, name := range b.names() {
		b.accounts[name] = &check.Account{}
	}
	return b, b.observer.watch(ctx, p.stage.Config, p.client, p.settings.namespace())
}

func (b *boxes) names() []string {
	all := make([]string, 0, b.settings.Names)
	for i := range b.settings.Names {
		all = append(all, fmt.Sprintf("box-%03d", i))
	}
	return all
}

// work implements subject. What is to be done to one Sandbox waits for what was done to it before, and for nothing else.
func (b *boxes) work(ctx context.Context, began time.Time) error {
	u := &user{
		client: b.client, namespace: b.settings.namespace(), accounts: b.accounts, tally: b.tally, diary: b.diary,
	}
	group, working := errgroup.WithContext(ctx)
	for _, actions := range b.schedule() {
		group.Go(func() error { return u.run(working, actions, began) })
	}
	return group.Wait()
}

// schedule returns what all users do, by the names of Sandboxes.
func (b *boxes) schedule() map[string][]schedule.Action {
	names := make([][]string, users)
	for i, name := range b.names() {
		names[i%users] = append(names[i%users], name)
	}
	byName := map[string][]schedule.Action{}
	for number := range users {
		for _, action := range schedule.Actions(b.settings.Seed, number, names[number], b.settings.Duration) {
			byName[action.Name] = append(byName[action.Name], action)
		}
	}
	return byName
}

// judge implements subject.
func (b *boxes) judge(ctx context.Context) (look, error) {
	world, err := check.Read(ctx, b.client, b.settings.namespace())
	if err != nil {
		return look{}, err
	}
	c := check.Case{World: world, Disks: b.observer.firstDisks(), Accounts: b.accounts, Now: time.Now()}
	return look{found: c.Violations(), latest: b.observer.latestEvent()}, nil
}

// living implements subject.
func (b *boxes) living() int { return b.observer.living() }

// conclude implements subject.
func (b *boxes) conclude(into *Result, requests audit.Counts) []check.Violation {
	into.Sandboxes = b.settings.Names
	into.Pods, into.Adopted = b.observer.counts()
	ended := func(k audit.Kind) bool {
		return b.settings.isOurs(k) && k.Verb == "delete" && k.Resource == "pods" && !k.Refused()
	}
	return check.PodEnds(b.accounts, requests.By(func(k audit.Kind) string { return k.Name }, ended))
}
