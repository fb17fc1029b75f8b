package demo

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the samples
	"errors"
	"fmt"
	"io"
	"time"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
)

//go:embed samples/my-agents.yaml
var myAgents []byte

// agents are the objects of that sample.
type agents struct {
	template extensionsv1beta1.SandboxTemplate
	pool     extensionsv1beta1.SandboxWarmPool
	claim    extensionsv1beta1.SandboxClaim
}

func readAgents(sample []byte) (agents, error) {
	var a agents
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(sample)))
	for _, into := range []client.Object{&a.template, &a.pool, &a.claim} {
		document, err := documents.Read()
		if err == nil {
			err = yaml.UnmarshalStrict(document, into)
		}
		if err != nil {
			return a, fmt.Errorf("reading a sample: %w", err)
		}
		into.SetNamespace(Namespace)
	}
	if _, err := documents.Read(); !errors.Is(err, io.EOF) {
		return a, errors.New("reading a sample: want a template, a pool and a claim, found more")
	}
	return a, nil
}

// claimTeller lives through the life of a pool and its claims, step by step, and tells it.
type claimTeller struct {
	agents

	stage   *stage
	client  client.WithWatch
	timeout time.Duration
	told    *recorder
	// taken is the Sandbox that the claim on the pool got.
	taken *sandboxv1beta1.Sandbox
	// warm is how long the claim on the pool waited for its Sandbox.
	warm time.Duration
}

// tellOfClaims fills a pool, lets one claim take from it and another start cold, and sees the pool filled again.
func (s *stage) tellOfClaims(ctx context.Context, timeline *Timeline, out io.Writer) error {
	objects, err := readAgents(myAgents)
	if err != nil {
		return err
	}
	life := &Life{Name: objects.pool.Name, About: "a warm pool, a claim that it serves at once, and one that starts cold"}
	timeline.Claims = append(timeline.Claims, life)
	if s.options.Image != "" {
		objects.template.Spec.PodTemplate.Spec.Containers[0].Image = s.options.Image
	}
	t := &claimTeller{agents: objects, stage: s, client: s.client, timeout: s.options.Timeout, told: newRecorder(life, time.Now(), out)}
	for _, step := range []func(context.Context) error{t.fill, t.takeWarm, t.runCommand, t.refill, t.startCold, t.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *claimTeller) create(ctx context.Context, object client.Object) error {
	if err := t.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating %s: %w", object.GetName(), err)
	}
	return nil
}

func (t *claimTeller) fill(ctx context.Context) error {
	if err := errors.Join(t.create(ctx, &t.template), t.create(ctx, &t.pool)); err != nil {
		return err
	}
	t.told.add(time.Now(), "created", fmt.Sprintf("SandboxTemplate and SandboxWarmPool %s", t.pool.Name))
	return t.full(ctx, "filled")
}

func (t *claimTeller) full(ctx context.Context, what string) error {
	replicas := *t.pool.Spec.Replicas
	if _, err := await.Until(ctx, t.client, &t.pool, t.timeout, await.Members(replicas)); err != nil {
		return err
	}
	t.told.add(time.Now(), what, fmt.Sprintf("%d Sandboxes wait for claims", replicas), fact{"readyReplicas", fmt.Sprint(replicas)})
	return nil
}

func (t *claimTeller) refill(ctx context.Context) error { return t.full(ctx, "refilled") }

// serve makes a claim and returns its Sandbox, and how long that took.
func (t *claimTeller) serve(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) (*sandboxv1beta1.Sandbox, time.Duration, error) {
	began := time.Now()
	if err := t.create(ctx, claim); err != nil {
		return nil, 0, err
	}
	served, err := await.Until(ctx, t.client, claim, t.timeout, await.Served())
	took := time.Since(began)
	if err != nil {
		return nil, 0, err
	}
	sandbox := &sandboxv1beta1.Sandbox{}
	key := client.ObjectKey{Namespace: served.Namespace, Name: served.Status.Sandbox.Name}
	if err := t.client.Get(ctx, key, sandbox); err != nil {
		return nil, 0, fmt.Errorf("reading Sandbox %s of claim %s: %w", key.Name, claim.Name, err)
	}
	return sandbox, took, nil
}

func (t *claimTeller) takeWarm(ctx context.Context) error {
	sandbox, took, err := t.serve(ctx, &t.claim)
	if err != nil {
		return err
	}
	if launch := sandbox.Labels[sandboxv1beta1.LabelLaunchType]; launch != sandboxv1beta1.LaunchTypeWarm {
		return fmt.Errorf("claim %s got Sandbox %s, launched %q, though the pool was full", t.claim.Name, sandbox.Name, launch)
	}
	t.warm, t.taken = took, sandbox
	t.told.add(time.Now(), "bound", fmt.Sprintf("claim %s has warm Sandbox %s, Ready %d ms after it asked", t.claim.Name, sandbox.Name, took.Milliseconds()),
		fact{"sandbox", sandbox.Name}, fact{"milliseconds", fmt.Sprint(took.Milliseconds())})
	return nil
}

func (t *claimTeller) startCold(ctx context.Context) error {
	pool := &extensionsv1beta1.SandboxWarmPool{Spec: *t.pool.Spec.DeepCopy()}
	pool.Namespace, pool.Name, pool.Spec.Replicas = Namespace, t.pool.Name+"-none", ptr.To[int32](0)
	claim := &extensionsv1beta1.SandboxClaim{}
	claim.Namespace, claim.Name, claim.Spec.WarmPoolRef.Name = Namespace, t.claim.Name+"-cold", pool.Name
	if err := t.create(ctx, pool); err != nil {
		return err
	}
	if _, err := await.Until(ctx, t.client, pool, t.timeout, await.Members(0)); err != nil {
		return err
	}
	sandbox, took, err := t.serve(ctx, claim)
	if err != nil {
		return err
	}
	t.told.add(time.Now(), "cold", fmt.Sprintf("claim %s on a pool of 0 has Sandbox %s, Ready after %d ms (warm: %d ms)",
		claim.Name, sandbox.Name, took.Milliseconds(), t.warm.Milliseconds()),
		fact{"sandbox", sandbox.Name}, fact{"milliseconds", fmt.Sprint(took.Milliseconds())})
	return errors.Join(t.delete(ctx, claim), t.delete(ctx, pool))
}

func (t *claimTeller) delete(ctx context.Context, object client.Object) error {
	if err := t.client.Delete(ctx, object); err != nil {
		return fmt.Errorf("deleting %s: %w", object.GetName(), err)
	}
	return nil
}

// remove deletes claim, pool and template, and waits until the claim's Sandbox is gone.
func (t *claimTeller) remove(ctx context.Context) error {
	claim := &extensionsv1beta1.SandboxClaim{}
	if err := t.client.Get(ctx, client.ObjectKeyFromObject(&t.claim), claim); err != nil {
		return fmt.Errorf("reading claim %s: %w", t.claim.Name, err)
	}
	if err := errors.Join(t.delete(ctx, &t.claim), t.delete(ctx, &t.pool), t.delete(ctx, &t.template)); err != nil {
		return err
	}
	sandbox := &sandboxv1beta1.Sandbox{}
	sandbox.Namespace, sandbox.Name = Namespace, claim.Status.Sandbox.Name
	if err := await.Gone(ctx, t.client, sandbox, t.timeout); err != nil {
		return err
	}
	t.told.add(time.Now(), "deleted", "claim, pool and template; the Sandbox went with its claim")
	return nil
}
