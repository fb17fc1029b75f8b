package sandbox

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/quota"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

// blocked is the failure of a child that some object of the cluster stands in the way of. It passes when that object changes.
type blocked struct {
	// reason of the condition Ready.
	reason string
	// cause tells the same at every try, unlike the API server's own words.
	cause string
	// refusal is what the API server said; nil when it was not asked again, since the obstacle still stands.
	refusal error
}

func (b blocked) Error() string { return b.cause }

func (b blocked) Unwrap() error { return b.refusal }

// surroundings are the objects of the cluster that can stand in the way of a child.
type surroundings struct {
	limits quota.Limits
	// runtimeClass is the one that the Pod asks for; nil when it asks for none or there is none of that name.
	runtimeClass *nodev1.RuntimeClass
}

// obstacle says what stands in the way of obj; ok is false when nothing does.
func (s surroundings) obstacle(obj client.Object) (obstacle blocked, ok bool) {
	if pod, isPod := obj.(*corev1.Pod); isPod {
		if name := ptr.Deref(pod.Spec.RuntimeClassName, ""); name != "" && s.runtimeClass == nil {
			return blocked{reason: sandboxv1beta1.ReasonRuntimeClassNotFound, cause: fmt.Sprintf("RuntimeClass %q of Pod %q does not exist", name, pod.Name)}, true
		}
		obj = s.withOverhead(pod)
	}
	return overLimits(obj, s.limits.Obstacle(obj))
}

// spoiler says what makes obj invalid that is not so by itself; ok is false when nothing does.
func (s surroundings) spoiler(obj client.Object) (obstacle blocked, ok bool) {
	return overLimits(obj, s.limits.Spoiler(obj))
}

func overLimits(obj client.Object, cause string) (obstacle blocked, ok bool) {
	if cause == "" {
		return blocked{}, false
	}
	return blocked{reason: sandboxv1beta1.ReasonQuotaExceeded, cause: fmt.Sprintf("%s %q: %s", kindOf(obj), obj.GetName(), cause)}, true
}

// withOverhead is the Pod with what its RuntimeClass costs, as admission counts it.
func (s surroundings) withOverhead(pod *corev1.Pod) *corev1.Pod {
	if s.runtimeClass == nil || s.runtimeClass.Overhead == nil {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Spec.Overhead = s.runtimeClass.Overhead.PodFixed
	return pod
}

// +kubebuilder:rbac:groups="",resources=resourcequotas;limitranges,verbs=list;watch
// +kubebuilder:rbac:groups=node.k8s.io,resources=runtimeclasses,verbs=get;list;watch

func observeSurroundings(ctx context.Context, reader client.Reader, sandbox *sandboxv1beta1.Sandbox) (surroundings, error) {
	var around surroundings
	var quotas corev1.ResourceQuotaList
	var ranges corev1.LimitRangeList
	for _, list := range []client.ObjectList{&quotas, &ranges} {
		if err := reader.List(ctx, list, client.InNamespace(sandbox.Namespace)); err != nil {
			return around, fmt.Errorf("listing what limits namespace %q: %w", sandbox.Namespace, err)
		}
	}
	around.limits = quota.Limits{Quotas: quotas.Items, Ranges: ranges.Items}
	name := ptr.Deref(sandbox.Spec.PodTemplate.Spec.RuntimeClassName, "")
	if name == "" {
		return around, nil
	}
	class := &nodev1.RuntimeClass{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, class)
	switch {
	case err == nil:
		around.runtimeClass = class
	case !apierrors.IsNotFound(err):
		return around, fmt.Errorf("reading RuntimeClass %q: %w", name, err)
	}
	return around, nil
}

// explain finds out why the API server refuses a child: it says so in prose alone. What cannot be explained is returned as it is.
// The cache may not show yet how much of a quota is used, so where there is one the API server is asked too.
func (r *Reconciler) explain(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, child client.Object, refusal error) error {
	explanation := surroundings.obstacle
	switch {
	case refusals.IsNamespaceGoing(refusal):
		return refusal
	case apierrors.IsInvalid(refusal):
		explanation = surroundings.spoiler
	case !apierrors.IsForbidden(refusal):
		return refusal
	}
	for _, reader := range []client.Reader{r.client, r.live} {
		around, err := observeSurroundings(ctx, reader, sandbox)
		if err != nil {
			return errors.Join(refusal, err)
		}
		if obstacle, ok := explanation(around, child); ok {
			obstacle.refusal = refusal
			return obstacle
		}
		if around.limits.IsEmpty() {
			break
		}
	}
	return refusal
}

// withhold takes out of a plan what would meet an obstacle that still stands: it is tried again when its time comes.
func withhold(s seen, p plan) plan {
	if s.around == nil {
		return p
	}
	for i := range p.claims {
		if create := p.claims[i].create; create != nil {
			if obstacle, ok := s.around.obstacle(create); ok {
				p.claims[i] = claimAction{refused: obstacle}
			}
		}
	}
	if p.pod.create != nil {
		if obstacle, ok := s.around.obstacle(p.pod.create); ok {
			p.pod = podAction{refused: obstacle}
		}
	}
	if p.service.create != nil {
		if obstacle, ok := s.around.obstacle(p.service.create); ok {
			p.service = serviceAction{refused: obstacle}
		}
	}
	p.wakeWithin(s.nextTry)
	return p
}

// obstacleIndex is the cache index of the Sandboxes that wait for an object to change, by what they wait for.
const obstacleIndex = "sandbox-obstacle"

// waitsForQuota is the value for those that a ResourceQuota or a LimitRange blocks.
const waitsForQuota = "quota"

func waitsForRuntimeClass(name string) string { return "runtimeclass/" + name }

// obstacleOf is the index function.
func obstacleOf(obj client.Object) []string {
	sandbox, ok := obj.(*sandboxv1beta1.Sandbox)
	if !ok {
		return nil
	}
	switch readyReason(sandbox.Status) {
	case sandboxv1beta1.ReasonQuotaExceeded:
		return []string{waitsForQuota}
	case sandboxv1beta1.ReasonRuntimeClassNotFound:
		return []string{waitsForRuntimeClass(ptr.Deref(sandbox.Spec.PodTemplate.Spec.RuntimeClassName, ""))}
	default:
		return nil
	}
}
