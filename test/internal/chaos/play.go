package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

const (
	// users work at the same time.
	users = 10
	// sayEvery is the time between two lines of progress.
	sayEvery = 5 * time.Second
	// undoPatience bounds how long it may take to put things back.
	undoPatience = 2 * time.Minute
)

// Play lets users and kills loose on a stage, and judges what comes of it. Violations are in the result; the error says that
// the run could not be made, or not to its end.
func Play(ctx context.Context, stage Stage, settings Settings) (Result, error) {
	if err := settings.validate(); err != nil {
		return Result{}, err
	}
	c, err := await.NewClient(stage.Config)
	if err != nil {
		return Result{}, err
	}
	path := filepath.Join(stage.LogDir, string(settings.Variant)+"-diary.log")
	file, err := os.Create(path)
	if err != nil {
		return Result{}, fmt.Errorf("creating the diary: %w", err)
	}
	settings.say("seed %d, %d Sandboxes, %s; the diary is %s", settings.Seed, settings.Sandboxes, settings.Duration, path)
	p := newPlay(stage, settings, c, newDiary(time.Now(), file))
	result, err := p.play(ctx)
	return result, errors.Join(err, file.Close())
}

// play is one run.
type play struct {
	stage    Stage
	settings Settings
	client   client.WithWatch
	tally    *tally
	diary    *diary
	accounts map[string]*check.Account

	mu    sync.Mutex
	found []check.Violation
}

func newPlay(stage Stage, settings Settings, c client.WithWatch, d *diary) *play {
	p := &play{
		stage: stage, settings: settings, client: c, tally: newTally(), diary: d, accounts: map[string]*check.Account{},
	}
	for _, name := range p.names() {
		p.accounts[name] = &check.Account{}
	}
	return p
}

func (p *play) names() []string {
	all := make([]string, 0, p.settings.Sandboxes)
	for i := range p.settings.Sandboxes {
		all = append(all, fmt.Sprintf("box-%03d", i))
	}
	return all
}

// play makes the namespace, runs, and leaves the namespace to be removed.
func (p *play) play(ctx context.Context) (Result, error) {
	if err := p.makeNamespace(ctx); err != nil {
		return Result{}, err
	}
	result, err := p.run(ctx)
	undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	return result, errors.Join(err, p.deleteNamespace(undoing, p.settings.Variant))
}

// run begins to watch and to count, starts controllers, and lets loose.
func (p *play) run(ctx context.Context) (Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	meter, err := newMeter(ctx, p.client, p.stage.AuditLog)
	if err != nil {
		return Result{}, err
	}
	o := newObserver(p.diary, func(v check.Violation) {
		p.violate(v)
		end(v)
	})
	if err := o.watch(ctx, p.stage.Config, p.client, p.settings.Variant.namespace()); err != nil {
		return Result{}, err
	}
	controllers, err := startReplicas(ctx, p.stage, p.settings, p.tally, p.diary)
	var rest time.Duration
	if err == nil {
		rest, err = p.letLoose(ctx, o, controllers)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	err = errors.Join(p.takeViolation(err), controllers.stop(stopping))
	if err != nil {
		return Result{}, err
	}
	result := p.result(o, rest)
	ended, err := meter.read(stopping, &result)
	p.report(check.PodEnds(p.accounts, ended))
	result.Violations = p.violations()
	return result, err
}

// letLoose runs users, kills and progress until all is over, and returns how long it took to come to rest after.
func (p *play) letLoose(ctx context.Context, o *observer, controllers *replicas) (time.Duration, error) {
	began, calm := time.Now(), make(chan struct{})
	kills := schedule.NewKills(p.settings.Seed, p.settings.Variant.replicas(), p.settings.LeastPause, p.settings.MostPause)
	ctx, over := context.WithCancel(ctx)
	defer over()
	var rest time.Duration
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return controllers.supervise(ctx, kills, calm) })
	group.Go(func() error { return p.tell(ctx, o, began) })
	group.Go(func() error {
		defer over()
		err := p.unrest(ctx, began)
		if err == nil {
			close(calm)
			rest, err = p.settle(ctx, o)
		}
		return err
	})
	return rest, group.Wait()
}

// unrest returns once all users have done what the schedule says and the time is over. What is to be done to one Sandbox waits
// for what was done to it before, and for nothing else.
func (p *play) unrest(ctx context.Context, began time.Time) error {
	u := &user{
		client: p.client, namespace: p.settings.Variant.namespace(), accounts: p.accounts, tally: p.tally, diary: p.diary,
	}
	group, working := errgroup.WithContext(ctx)
	for _, actions := range p.schedule() {
		group.Go(func() error { return u.run(working, actions, began) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return sleepUntil(ctx, began.Add(p.settings.Duration))
}

// schedule returns what all users do, by the names of Sandboxes.
func (p *play) schedule() map[string][]schedule.Action {
	names := make([][]string, users)
	for i, name := range p.names() {
		names[i%users] = append(names[i%users], name)
	}
	byName := map[string][]schedule.Action{}
	for number := range users {
		for _, action := range schedule.Actions(p.settings.Seed, number, names[number], p.settings.Duration) {
			byName[action.Name] = append(byName[action.Name], action)
		}
	}
	return byName
}

// tell says now and then how far things are.
func (p *play) tell(ctx context.Context, o *observer, began time.Time) error {
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c := p.tally.now()
			p.settings.say("%s of %s: %d actions, %d kills, %d Sandboxes",
				time.Since(began).Round(time.Second), p.settings.Duration, c.total(), c.kills, o.living())
		}
	}
}

func (p *play) violate(v check.Violation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, v)
}

func (p *play) violations() []check.Violation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]check.Violation{}, p.found...)
}

// takeViolation turns an error that is a violation into one that was found, and drops errors that follow from one.
func (p *play) takeViolation(err error) error {
	var v check.Violation
	if errors.As(err, &v) {
		p.violate(v)
	}
	if len(p.violations()) > 0 {
		return nil
	}
	return err
}
