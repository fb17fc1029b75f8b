package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Run sets the stage, tells the story and ends all that it started, also when ctx ends early. Every step has a time-out;
// the error says what was waited for.
func Run(ctx context.Context, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	s := &stage{options: o}
	err = s.play(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return errors.Join(err, s.tearDown(ctx))
}

func (s *stage) play(ctx context.Context) error {
	if err := s.setUp(ctx); err != nil {
		return err
	}
	out := s.options.Out
	if s.options.Output == OutputJSON {
		out = io.Discard
	}
	timeline := &Timeline{}
	const plain, workspace = "one Pod with a stable name", "with a DNS name and a disk that outlives its Pod"
	if err := s.tell(ctx, plain, mySandbox, timeline, out); err != nil {
		return err
	}
	if err := s.tell(ctx, workspace, myWorkspace, timeline, out); err != nil {
		return err
	}
	if err := s.tellOfClaims(ctx, timeline, out); err != nil {
		return err
	}
	if s.options.Output == OutputJSON {
		if err := timeline.writeJSON(s.options.Out); err != nil {
			return err
		}
	}
	if s.options.Keep {
		return s.keep(ctx)
	}
	return nil
}

// errEnded says that a controller is no more.
var errEnded = errors.New("a controller ended")

// keep waits for an interrupt, which is how it is meant to end, or for the end of a controller, which is not.
func (s *stage) keep(ctx context.Context) error {
	samples := filepath.Join(s.options.Root, "test", "internal", "demo", "samples")
	s.options.report(`
Cluster and controllers stay up until ctrl-C. To try in another terminal:

  export KUBECONFIG=%q PATH="%s:$PATH"
  kubectl config set-context --current --namespace %s
  kubectl apply -f %s
  kubectl get sandboxes,pods,pvc,services -o wide
  kubectl patch sandbox my-workspace --type merge -p '{"spec":{"operatingMode":"Suspended"}}'
  kubectl get sandbox my-workspace -o yaml
  kubectl get sandboxtemplates,sandboxwarmpools,sandboxclaims
  kubectl scale sandboxwarmpool my-agents --replicas 5
  kubectl explain sandboxclaim.spec`, s.kubeconfig, filepath.Join(s.options.Root, "bin", "k8s"), Namespace, samples)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, controller := range s.local {
		go func() {
			<-controller.Ended()
			stop(errEnded)
		}()
	}
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), errEnded) {
		return errEnded
	}
	s.options.report("stopping")
	return nil
}
