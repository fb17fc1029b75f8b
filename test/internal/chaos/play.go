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
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

const (
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
	path := filepath.Join(stage.LogDir, settings.Name()+"-diary.log")
	file, err := os.Create(path)
	if err != nil {
		return Result{}, fmt.Errorf("creating the diary: %w", err)
	}
	settings.say("seed %d, %d %s, %s; the diary is %s", settings.Seed, settings.Names, settings.Subject, settings.Duration, path)
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
	outages  *outages
	deeds    *claims.Deeds

	mu    sync.Mutex
	found []check.Violation
}

func newPlay(stage Stage, settings Settings, c client.WithWatch, d *diary) *play {
	t, deeds := newTally(), claims.NewDeeds()
	return &play{
		stage: stage, settings: settings, client: c, tally: t, diary: d, deeds: deeds, outages: &outages{tally: t, diary: d, deeds: deeds},
	}
}

// play makes the namespace, runs, and leaves the namespace to be removed.
func (p *play) play(ctx context.Context) (Result, error) {
	if err := p.makeNamespace(ctx); err != nil {
		return Result{}, err
	}
	result, err := p.run(ctx)
	undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	return result, errors.Join(err, p.deleteNamespace(undoing, p.settings.namespace()))
}

// run begins to watch and to count, starts controllers, and lets loose.
func (p *play) run(ctx context.Context) (Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	meter, err := newMeter(ctx, p.client, p.settings, p.stage.AuditLog)
	if err != nil {
		return Result{}, err
	}
	about, err := p.newSubject(ctx, func(v check.Violation) {
		p.violate(v)
		end(v)
	})
	if err != nil {
		return Result{}, err
	}
	controllers, err := p.startControllers(ctx)
	var rest time.Duration
	if err == nil {
		rest, err = p.letLoose(ctx, about, controllers)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	err = p.takeViolation(err)
	for _, c := range controllers {
		err = errors.Join(err, c.stop(stopping))
	}
	if err != nil {
		return Result{}, err
	}
	result := p.result(about, rest)
	requests, err := meter.read(stopping, &result)
	p.report(about.conclude(&result, requests))
	result.Violations = p.violations()
	return result, err
}

// letLoose runs users, kills and progress until all is over, and returns how long it took to come to rest after.
func (p *play) letLoose(ctx context.Context, about subject, controllers []*replicas) (time.Duration, error) {
	began, calm := time.Now(), make(chan struct{})
	ctx, over := context.WithCancel(ctx)
	defer over()
	var rest time.Duration
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range controllers {
		group.Go(func() error { return c.supervise(ctx, calm) })
	}
	group.Go(func() error { return p.tell(ctx, about, began) })
	group.Go(func() error {
		defer over()
		err := p.unrest(ctx, about, began)
		if err == nil {
			close(calm)
			rest, err = p.settle(ctx, about)
		}
		return err
	})
	return rest, group.Wait()
}

// unrest returns once all users have done what the schedule says, no part of the control plane is to be killed any more, and
// the time is over.
func (p *play) unrest(ctx context.Context, about subject, began time.Time) error {
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return about.work(working, began) })
	if cluster := p.stage.Cluster; cluster != nil && p.settings.Subject == Claims {
		due := schedule.Outages(p.settings.Seed, []string{devcluster.APIServer, devcluster.Etcd}, p.settings.Duration)
		group.Go(func() error { return p.outages.run(working, *cluster, due, began) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return sleepUntil(ctx, began.Add(p.settings.Duration))
}

// tell says now and then how far things are.
func (p *play) tell(ctx context.Context, about subject, began time.Time) error {
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c := p.tally.now()
			p.settings.say("%s of %s: %d actions, %d kills, %d Sandboxes",
				time.Since(began).Round(time.Second), p.settings.Duration, sum(c.actions), sum(c.kills), about.living())
		}
	}
}

func (p *play) violate(v check.Violation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, v)
	p.diary.note(v.Sandbox, "VIOLATION: %s", v)
	p.settings.say("VIOLATION: %s", v)
}

// amend changes what was found.
func (p *play) amend(change func(*check.Violation)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.found {
		change(&p.found[i])
	}
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
