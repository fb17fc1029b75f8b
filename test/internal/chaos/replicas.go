package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// leaseLost is in the log of a controller that ended because it could not renew its Lease in time, as it should.
	leaseLost = "leader election lost"
	// portTaken is in that of one for which a port was chosen that another process took before it.
	portTaken = "address already in use"
)

// replicas are the processes of one controller in a run. They are children of this process, killed by their handles.
type replicas struct {
	stage    Stage
	settings Settings
	tally    *tally
	diary    *diary
	outages  *outages
	deeds    *claims.Deeds
	// controller is the name of its Deployment.
	controller string
	kills      *schedule.Kills
	all        []*replica
	// ended receives those that end.
	ended chan *install.Controller
}

// replica is a place for a controller, with one log for all that run there.
type replica struct {
	log        *os.File
	controller *install.Controller
}

// startControllers starts all replicas of all controllers. The caller stops them even after an error.
func (p *play) startControllers(ctx context.Context) ([]*replicas, error) {
	var all []*replicas
	for number, controller := range p.settings.Subject.controllers() {
		r := &replicas{
			stage: p.stage, settings: p.settings, tally: p.tally, diary: p.diary, outages: p.outages, deeds: p.deeds,
			controller: controller, ended: make(chan *install.Controller),
			kills: schedule.NewKills(p.settings.Seed, number, p.settings.Variant.replicas(), p.settings.LeastPause, p.settings.MostPause),
		}
		all = append(all, r)
		if err := r.startAll(ctx); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (r *replicas) startAll(ctx context.Context) error {
	for i := range r.settings.Variant.replicas() {
		path := filepath.Join(r.stage.LogDir, fmt.Sprintf("%s-%s-%d.log", r.settings.Name(), r.controller, i))
		log, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("creating a controller's log: %w", err)
		}
		r.all = append(r.all, &replica{log: log})
		if err := r.start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// start returns once the controller is ready. It outlives ctx: stop ends it.
func (r *replicas) start(ctx context.Context, number int) error {
	controller, err := r.startInTheEnd(ctx, number)
	if err != nil {
		return err
	}
	r.all[number].controller = controller
	r.diary.note("", "%s %d started, process %d", r.controller, number, controller.PID())
	go func() {
		<-controller.Ended()
		select {
		case r.ended <- controller:
		case <-ctx.Done():
		}
	}()
	return nil
}

// startInTheEnd tries again what a control plane that was not there, or a port that was taken, has made fail.
func (r *replicas) startInTheEnd(ctx context.Context, number int) (*install.Controller, error) {
	for {
		began := time.Now()
		controller, err := install.StartController(context.WithoutCancel(ctx), r.stage.Config, install.ControllerOptions{
			Binary: r.stage.Binaries[r.controller], ServiceAccount: r.controller, Args: r.settings.args(r.controller), Log: r.all[number].log,
		})
		isTaken := err != nil && strings.Contains(err.Error(), portTaken)
		if err == nil || ctx.Err() != nil || !isTaken && !r.outages.disturbed(began) {
			return controller, err
		}
		r.diary.note("", "%s %d did not start without the control plane, or its port", r.controller, number)
		if err := sleepUntil(ctx, time.Now().Add(retryPause)); err != nil {
			return nil, err
		}
	}
}

// supervise kills controllers in their time until calm is closed, and starts every one again that has ended, until ctx
// ends. A controller that ends for another reason than its Lease, or a control plane that is not there, is an error.
func (r *replicas) supervise(ctx context.Context, calm <-chan struct{}) error {
	next := r.kills.Next()
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
			next = r.kills.Next()
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
	r.diary.note("", "%s %d killed, process %d", r.controller, number, victim.PID())
	r.all[number].controller = nil
	r.stray()
	if err := victim.Kill(); err != nil {
		return fmt.Errorf("killing %s: %w", r.controller, err)
	}
	r.tally.change(func(c *counts) { c.kills[r.controller]++ })
	return r.start(ctx, number)
}

// restart starts a controller again that ended by itself.
func (r *replicas) restart(ctx context.Context, dead *install.Controller) error {
	for number, at := range r.all {
		if at.controller != dead {
			continue // killed, and replaced already
		}
		r.diary.note("", "%s %d ended by itself, process %d", r.controller, number, dead.PID())
		isToEnd := strings.Contains(dead.LogTail(), leaseLost) || strings.Contains(dead.LogTail(), portTaken)
		if !isToEnd && !r.outages.disturbed(time.Now()) {
			return fmt.Errorf("%s %d ended by itself:\n%s", r.controller, number, dead.LogTail())
		}
		r.tally.change(func(c *counts) { c.ends[r.controller]++ })
		at.controller = nil
		r.stray()
		return r.start(ctx, number)
	}
	return nil
}

// stray notes the end of a process that may have made members.
func (r *replicas) stray() {
	if r.controller == install.ExtensionsController {
		r.deeds.Stray(time.Now())
	}
}

// stop ends all processes in order.
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
