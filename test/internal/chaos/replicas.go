package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// leaseLost is in the log of a controller that ended because it could not renew its Lease in time, as it should.
const leaseLost = "leader election lost"

// replicas are the controllers of a run. They are processes of this one, killed by their handles.
type replicas struct {
	stage    Stage
	settings Settings
	tally    *tally
	diary    *diary
	all      []*replica
	// ended receives those that end.
	ended chan *install.Controller
}

// replica is a place for a controller, with one log for all that run there.
type replica struct {
	log        *os.File
	controller *install.Controller
}

// startReplicas starts all controllers of a variant. The caller stops them even after an error.
func startReplicas(ctx context.Context, stage Stage, settings Settings, t *tally, d *diary) (*replicas, error) {
	r := &replicas{stage: stage, settings: settings, tally: t, diary: d, ended: make(chan *install.Controller)}
	for i := range settings.Variant.replicas() {
		path := filepath.Join(stage.LogDir, fmt.Sprintf("%s-controller-%d.log", settings.Variant, i))
		log, err := os.Create(path)
		if err != nil {
			return r, fmt.Errorf("creating a controller's log: %w", err)
		}
		r.all = append(r.all, &replica{log: log})
		if err := r.start(ctx, i); err != nil {
			return r, err
		}
	}
	return r, nil
}

// start returns once the controller is ready. It outlives ctx: stop ends it.
func (r *replicas) start(ctx context.Context, number int) error {
	at := r.all[number]
	controller, err := install.StartController(context.WithoutCancel(ctx), r.stage.Config, install.ControllerOptions{
		Binary: r.stage.Binary, Args: r.settings.Variant.args(), Log: at.log,
	})
	if err != nil {
		return err
	}
	at.controller = controller
	r.diary.note("", "controller %d started, process %d", number, controller.PID())
	go func() {
		<-controller.Ended()
		select {
		case r.ended <- controller:
		case <-ctx.Done():
		}
	}()
	return nil
}

// supervise kills controllers in their time until calm is closed, and starts every one again that has ended, until ctx
// ends. A controller that ends for another reason than its Lease is an error.
func (r *replicas) supervise(ctx context.Context, kills *schedule.Kills, calm <-chan struct{}) error {
	next := kills.Next()
	due := time.NewTimer(next.After)
	defer due.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-calm:
			due.Stop()
			calm = nil
		case <-due.C:
			err = r.kill(ctx, next.Replica)
			next = kills.Next()
			due.Reset(next.After)
		case dead := <-r.ended:
			err = r.restart(ctx, dead)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (r *replicas) kill(ctx context.Context, number int) error {
	victim := r.all[number].controller
	r.diary.note("", "controller %d killed, process %d", number, victim.PID())
	r.all[number].controller = nil
	if err := victim.Kill(); err != nil {
		return fmt.Errorf("killing a controller: %w", err)
	}
	r.tally.change(func(c *counts) { c.kills++ })
	return r.start(ctx, number)
}

// restart starts a controller again that ended by itself.
func (r *replicas) restart(ctx context.Context, dead *install.Controller) error {
	for number, at := range r.all {
		if at.controller != dead {
			continue // killed, and replaced already
		}
		r.diary.note("", "controller %d ended by itself, process %d", number, dead.PID())
		if !strings.Contains(dead.LogTail(), leaseLost) {
			return fmt.Errorf("controller %d ended by itself:\n%s", number, dead.LogTail())
		}
		r.tally.change(func(c *counts) { c.ends++ })
		at.controller = nil
		return r.start(ctx, number)
	}
	return nil
}

// stop ends all controllers in order.
func (r *replicas) stop(ctx context.Context) error {
	var all []error
	for _, at := range r.all {
		if at.controller != nil {
			all = append(all, stopInOrder(ctx, at.controller))
		}
		all = append(all, at.log.Close())
	}
	return errors.Join(all...)
}

// stopInOrder accepts that the controller has just lost its Lease.
func stopInOrder(ctx context.Context, controller *install.Controller) error {
	err := controller.Stop(ctx)
	if err != nil && strings.Contains(controller.LogTail(), leaseLost) {
		return nil
	}
	return err
}
