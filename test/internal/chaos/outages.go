package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

const (
	// aftershock is how long after an outage something may still fail because of it: a controller's process gives up a little later.
	aftershock = 30 * time.Second
	// retryPause lies between two tries of what failed for want of a control plane. With hundreds of users that ask again, a shorter
	// one keeps an API server busy that is just starting.
	retryPause = time.Second
	// startTries is how often a part of the control plane is started: on a busy machine it may not be healthy in time.
	startTries = 3
)

// outages kill parts of the control plane and start them again. They are safe for concurrent use.
type outages struct {
	tally *tally
	diary *diary
	deeds *claims.Deeds

	mu    sync.Mutex
	under int       // outages under way
	ended time.Time // the last one
}

// run makes outages in their time.
func (o *outages) run(ctx context.Context, cluster devcluster.Options, due []schedule.Outage, began time.Time) error {
	cluster.Nodes = devcluster.KeepNodes
	for _, outage := range due {
		if err := sleepUntil(ctx, began.Add(outage.At)); err != nil {
			return err
		}
		if err := o.restart(ctx, cluster, outage.Component); err != nil {
			return fmt.Errorf("restarting %s: %w", outage.Component, err)
		}
		o.tally.change(func(c *counts) { c.outages[outage.Component]++ })
	}
	return nil
}

// restart goes on when ctx ends: what comes then needs a control plane, too.
func (o *outages) restart(ctx context.Context, options devcluster.Options, component string) error {
	ctx = context.WithoutCancel(ctx)
	cluster, err := devcluster.Open(options)
	if err != nil {
		return err
	}
	o.begin()
	defer o.end()
	o.diary.note("", "%s killed", component)
	if err := cluster.Kill(ctx, component, syscall.SIGKILL); err != nil {
		return err
	}
	for range startTries {
		var slow *devcluster.StartError
		if _, err = devcluster.Up(ctx, options); !errors.As(err, &slow) {
			break
		}
		o.diary.note("", "%s does not start: %s", component, slow.Reason)
	}
	o.diary.note("", "%s is there again", component)
	return err
}

func (o *outages) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.under++
	o.deeds.Stray(time.Now())
}

func (o *outages) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.under--
	o.ended = time.Now()
	o.deeds.Stray(o.ended)
}

// disturbed says whether an outage, or what comes after it, falls into the time from since to now.
func (o *outages) disturbed(since time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.under > 0 || since.Before(o.ended.Add(aftershock))
}
