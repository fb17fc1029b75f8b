package demo

import (
	"context"
	_ "embed" // the samples
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
)

//go:embed samples/my-sandbox.yaml
var mySandbox []byte

//go:embed samples/my-workspace.yaml
var myWorkspace []byte

// teller lives through a Sandbox's life, step by step, and tells it.
type teller struct {
	client  client.WithWatch
	timeout time.Duration
	sandbox *sandboxv1beta1.Sandbox
	told    *recorder
}

// tell creates the Sandbox of a sample and takes it through its life.
func (s *stage) tell(ctx context.Context, about string, sample []byte, timeline *Timeline, out io.Writer) error {
	sandbox := &sandboxv1beta1.Sandbox{}
	if err := yaml.UnmarshalStrict(sample, sandbox); err != nil {
		return fmt.Errorf("reading a sample: %w", err)
	}
	sandbox.Namespace = Namespace
	life := &Life{Name: sandbox.Name, About: about}
	timeline.Sandboxes = append(timeline.Sandboxes, life)
	t := &teller{client: s.client, timeout: s.options.Timeout, sandbox: sandbox, told: newRecorder(life, time.Now(), out)}
	for _, step := range t.life() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *teller) life() []func(context.Context) error {
	begin := []func(context.Context) error{t.create, t.scheduled, t.ready}
	if len(t.sandbox.Spec.VolumeClaimTemplates) > 0 {
		begin = append(begin, t.suspendAndResume)
	}
	return append(begin, t.remove)
}

func (t *teller) create(ctx context.Context) error {
	if err := t.client.Create(ctx, t.sandbox); err != nil {
		return fmt.Errorf("creating Sandbox %s: %w", t.sandbox.Name, err)
	}
	t.told.add(time.Now(), "created", "Sandbox "+t.sandbox.Namespace+"/"+t.sandbox.Name, fact{"uid", string(t.sandbox.UID)})
	return nil
}

func (t *teller) scheduled(ctx context.Context) error {
	pod, err := await.Until(ctx, t.client, t.pod(), t.timeout, await.Scheduled())
	if err != nil {
		return err
	}
	detail := "on node " + pod.Spec.NodeName
	if len(t.sandbox.Spec.VolumeClaimTemplates) > 0 {
		detail += ", after its volume was made (for which the scheduler looks once a second)"
	}
	t.told.add(time.Now(), "scheduled", detail, fact{"node", pod.Spec.NodeName}, fact{"podUID", string(pod.UID)})
	return nil
}

func (t *teller) ready(ctx context.Context) error {
	sandbox, err := await.Until(ctx, t.client, t.sandbox, t.timeout, await.Ready())
	if err != nil {
		return err
	}
	ips := strings.Join(sandbox.Status.PodIPs, ",")
	detail, facts := "IP "+ips, []fact{{"podIPs", ips}}
	if name := sandbox.Status.ServiceFQDN; name != "" {
		detail += ", DNS name " + name
		facts = append(facts, fact{"serviceFQDN", name})
	}
	t.told.add(time.Now(), "ready", detail, facts...)
	return nil
}

// suspendAndResume shows that the volume outlives the Pod.
func (t *teller) suspendAndResume(ctx context.Context) error {
	before, err := await.Until(ctx, t.client, t.claim(), t.timeout, await.Bound())
	if err != nil {
		return err
	}
	t.told.add(time.Now(), "volume", fmt.Sprintf("PVC %s (UID %s) is bound to %s", before.Name, before.UID, before.Spec.VolumeName), claimFacts(before)...)
	if err := t.setMode(ctx, sandboxv1beta1.OperatingModeSuspended); err != nil {
		return err
	}
	if _, err := await.Until(ctx, t.client, t.sandbox, t.timeout, await.Suspended()); err != nil {
		return err
	}
	if err := await.Gone(ctx, t.client, t.pod(), t.timeout); err != nil {
		return err
	}
	t.told.add(time.Now(), "suspended", "Pod is gone, PVC and Service are kept")
	if err := t.setMode(ctx, sandboxv1beta1.OperatingModeRunning); err != nil {
		return err
	}
	return t.resumed(ctx, before)
}

func (t *teller) resumed(ctx context.Context, before *corev1.PersistentVolumeClaim) error {
	sandbox, err := await.Until(ctx, t.client, t.sandbox, t.timeout, await.Ready())
	if err != nil {
		return err
	}
	after, err := await.Until(ctx, t.client, t.claim(), t.timeout, await.Bound())
	if err != nil {
		return err
	}
	if after.UID != before.UID || after.Spec.VolumeName != before.Spec.VolumeName {
		return fmt.Errorf("sandbox %s was resumed with PVC %s of UID %s and volume %s; before it had UID %s and volume %s",
			sandbox.Name, after.Name, after.UID, after.Spec.VolumeName, before.UID, before.Spec.VolumeName)
	}
	t.told.add(time.Now(), "resumed", fmt.Sprintf("new Pod on node %s, IP %s, the same PVC %s (UID %s)",
		sandbox.Status.NodeName, strings.Join(sandbox.Status.PodIPs, ","), after.Name, after.UID), claimFacts(after)...)
	return nil
}

// remove deletes the Sandbox and waits until everything of it is gone.
func (t *teller) remove(ctx context.Context) error {
	if err := t.client.Delete(ctx, t.sandbox); err != nil {
		return fmt.Errorf("deleting Sandbox %s: %w", t.sandbox.Name, err)
	}
	gone := []string{"Sandbox", "Pod"}
	waits := []func() error{
		func() error { return await.Gone(ctx, t.client, t.sandbox, t.timeout) },
		func() error { return await.Gone(ctx, t.client, t.pod(), t.timeout) },
	}
	if len(t.sandbox.Spec.VolumeClaimTemplates) > 0 {
		gone = append(gone, "PVC", "Service")
		service := &corev1.Service{ObjectMeta: t.named(t.sandbox.Name)}
		waits = append(waits,
			func() error { return await.Gone(ctx, t.client, t.claim(), t.timeout) },
			func() error { return await.Gone(ctx, t.client, service, t.timeout) })
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			return err
		}
	}
	last := len(gone) - 1
	t.told.add(time.Now(), "deleted", strings.Join(gone[:last], ", ")+" and "+gone[last]+" are gone")
	return nil
}

func (t *teller) setMode(ctx context.Context, mode sandboxv1beta1.OperatingMode) error {
	patched := t.sandbox.DeepCopy()
	patched.Spec.OperatingMode = mode
	if err := t.client.Patch(ctx, patched, client.MergeFrom(t.sandbox)); err != nil {
		return fmt.Errorf("setting operatingMode of Sandbox %s to %s: %w", t.sandbox.Name, mode, err)
	}
	t.sandbox = patched
	return nil
}

func (t *teller) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.sandbox.Namespace, Name: name}
}

// pod names the Sandbox's Pod.
func (t *teller) pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: t.named(t.sandbox.Name)}
}

// claim names the PVC of the Sandbox's first template.
func (t *teller) claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: t.named(t.sandbox.Spec.VolumeClaimTemplates[0].Metadata.Name + "-" + t.sandbox.Name)}
}

func claimFacts(claim *corev1.PersistentVolumeClaim) []fact {
	return []fact{{"claim", claim.Name}, {"claimUID", string(claim.UID)}, {"volume", claim.Spec.VolumeName}}
}
