package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// stockers is how many members the floor makes at a time, before anything is measured.
const stockers = 50

// stock is the members that the floor may hand out. It is safe for concurrent use.
type stock struct {
	mu      sync.Mutex
	members []*sandboxv1beta1.Sandbox
}

func (s *stock) add(member *sandboxv1beta1.Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, member)
}

func (s *stock) take() (*sandboxv1beta1.Sandbox, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) == 0 {
		return nil, false
	}
	last := len(s.members) - 1
	member := s.members[last]
	s.members = s.members[:last]
	return member, true
}

// limit forgets members beyond so many.
func (s *stock) limit(count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = s.members[:min(count, len(s.members))]
}

// fillStock makes members as their pools would, each Ready by a status that is written here, and with a Pod if need be.
func (s *scene) fillStock(ctx context.Context, pools []*extensionsv1beta1.SandboxWarmPool, count int, pods bool) error {
	progress := s.progress.count("making what the floor hands out", count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stockers)
	for i, name := range objectNames("member", count) {
		pool := pools[i%len(pools)]
		group.Go(func() error {
			member, err := s.createOwned(ctx, desiredMember(pool, name))
			if err != nil {
				return err
			}
			if pods {
				if err := s.createPod(ctx, desiredPod(member)); err != nil {
					return err
				}
			}
			if member, err = s.makeReady(ctx, member); err == nil {
				s.stock.add(member)
				progress.one()
			}
			return err
		})
	}
	return group.Wait()
}

// makeReady writes the status of a Sandbox whose Pod runs.
func (c clients) makeReady(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	status := sandboxv1beta1.SandboxStatus{
		PodIPs: []string{"10.0.0.1"}, NodeName: "none",
		Conditions: []metav1.Condition{readyCondition(sandbox.Generation)},
	}
	ready := &sandboxv1beta1.Sandbox{}
	err := patchInto(ctx, c.sandboxes.Patch(types.MergePatchType).Namespace(namespace).Resource(sandboxResource).Name(sandbox.Name).SubResource("status"),
		map[string]any{"status": status}, ready)
	if err != nil {
		return nil, fmt.Errorf("making Sandbox %q ready: %w", sandbox.Name, err)
	}
	return ready, nil
}

// handOver gives a member to a claim, in one write of its metadata. A JSON patch is the cheapest for the API server.
func (c clients) handOver(ctx context.Context, member *sandboxv1beta1.Sandbox, claim *extensionsv1beta1.SandboxClaim) error {
	label := func(key string) string { return apply.Key("/metadata/labels", key) }
	patch := []apply.Operation{
		apply.At(member.ResourceVersion),
		apply.Replace("/metadata/ownerReferences/0", claimRef(claim)),
		apply.Set(label(sandboxv1beta1.LabelClaimUID), claim.UID),
		apply.Remove(label(sandboxv1beta1.LabelWarmPool)),
		apply.Remove(label(extensionsv1beta1.LabelTemplateHash)),
		apply.Remove(label(sandboxv1beta1.LabelCreatedBy)),
	}
	err := patchInto(ctx, c.owned.Patch(types.JSONPatchType).Namespace(namespace).Resource(sandboxResource).Name(member.Name),
		patch, &sandboxv1beta1.Sandbox{})
	if err != nil {
		return fmt.Errorf("handing over Sandbox %q: %w", member.Name, err)
	}
	return nil
}

// observe notes on a claim when it was seen, and what it gets.
func (c clients) observe(ctx context.Context, claim *extensionsv1beta1.SandboxClaim, sandbox string) (*extensionsv1beta1.SandboxClaim, error) {
	annotations := map[string]string{
		extensionsv1beta1.AnnotationFirstObservedAt: time.Now().Format(time.RFC3339Nano), extensionsv1beta1.AnnotationSandboxName: sandbox,
	}
	annotated := &extensionsv1beta1.SandboxClaim{}
	err := patchInto(ctx, c.extensions.Patch(types.MergePatchType).Namespace(namespace).Resource(claimResource).Name(claim.Name),
		map[string]any{"metadata": map[string]any{"annotations": annotations}}, annotated)
	if err != nil {
		return nil, fmt.Errorf("annotating claim %q: %w", claim.Name, err)
	}
	return annotated, nil
}

// labelPod tells on a Pod whose it is.
func (c clients) labelPod(ctx context.Context, pod string, claim *extensionsv1beta1.SandboxClaim) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{sandboxv1beta1.LabelClaimUID: string(claim.UID)}}})
	if err != nil {
		return err
	}
	if _, err := c.kubernetes.CoreV1().Pods(namespace).Patch(ctx, pod, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("labelling Pod %q: %w", pod, err)
	}
	return nil
}

// publish writes the status of a claim that has its Sandbox.
func (c clients) publish(ctx context.Context, claim *extensionsv1beta1.SandboxClaim, sandbox string) error {
	status := extensionsv1beta1.SandboxClaimStatus{
		Sandbox:    extensionsv1beta1.ClaimedSandbox{Name: sandbox, PodIPs: []string{"10.0.0.1"}},
		Conditions: []metav1.Condition{readyCondition(claim.Generation)},
	}
	err := patchInto(ctx, c.extensions.Patch(types.JSONPatchType).Namespace(namespace).Resource(claimResource).Name(claim.Name).SubResource("status"),
		[]apply.Operation{apply.At(claim.ResourceVersion), apply.Set("/status", status)}, &extensionsv1beta1.SandboxClaim{})
	if err != nil {
		return fmt.Errorf("publishing what claim %q got: %w", claim.Name, err)
	}
	return nil
}

func readyCondition(generation int64) metav1.Condition {
	return metav1.Condition{
		Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonDependenciesReady,
		Message: "Pod is Ready", ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(time.Now()),
	}
}

// patchInto sends a patch, and reads the answer.
func patchInto(ctx context.Context, request *rest.Request, patch any, into runtime.Object) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return request.Body(body).Do(ctx).Into(into)
}
