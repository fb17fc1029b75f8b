package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// change is an event that watches tell: before is nil for an object that has come, after for one that is gone.
type change struct {
	version       int64
	before, after client.Object
}

func (c change) name() string {
	if c.after != nil {
		return c.after.GetName()
	}
	return c.before.GetName()
}

// store is the API server. Objects in it are never changed, but replaced.
type store struct {
	version int64
	uids    int
	now     time.Time
	objects [kinds]map[string]client.Object
	logs    [kinds][]change
	// check is called with each change before it is told; who is the process that made it.
	check func(who *process, kind kind, c change)
}

func newStore(now time.Time) *store {
	s := &store{version: 100, now: now}
	for k := range s.objects {
		s.objects[k] = map[string]client.Object{}
	}
	return s
}

// branch returns a store with the same past.
func (s *store) branch() *store {
	b := *s
	for k := range s.objects {
		b.objects[k] = maps.Clone(s.objects[k])
		b.logs[k] = slices.Clip(s.logs[k])
	}
	return &b
}

func (s *store) names(k kind) []string {
	return slices.Sorted(maps.Keys(s.objects[k]))
}

func resource(k kind) schema.GroupResource {
	return schema.GroupResource{Group: "sim", Resource: k.String()}
}

// put stores after in the place of before; either may be nil.
func (s *store) put(who *process, k kind, before, after client.Object) {
	s.version++
	c := change{version: s.version, before: before, after: after}
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		s.objects[k][after.GetName()] = after
	} else {
		// The last state of an object that is gone carries the version of its deletion.
		last := copyOf(before)
		last.SetResourceVersion(strconv.FormatInt(s.version, 10))
		c.before = last
		delete(s.objects[k], before.GetName())
	}
	s.logs[k] = append(s.logs[k], c)
	if s.check != nil {
		s.check(who, k, change{version: s.version, before: before, after: after})
	}
}

func (s *store) get(k kind, name string) (client.Object, error) {
	if obj := s.objects[k][name]; obj != nil {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(resource(k), name)
}

func (s *store) create(who *process, obj client.Object) (client.Object, error) {
	k := kindOf(obj)
	if s.objects[k][obj.GetName()] != nil {
		return nil, apierrors.NewAlreadyExists(resource(k), obj.GetName())
	}
	s.uids++
	obj = copyOf(obj)
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(metav1.NewTime(s.now.Truncate(time.Second)))
	setStatus(obj, newObject(k))
	setDefaults(obj)
	s.put(who, k, nil, obj)
	return obj, nil
}

// setDefaults does what the schemas say.
func setDefaults(obj client.Object) {
	switch obj := obj.(type) {
	case *sandboxv1beta1.Sandbox:
		if obj.Spec.OperatingMode == "" {
			obj.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning
		}
		if obj.Spec.ShutdownPolicy == "" {
			obj.Spec.ShutdownPolicy = sandboxv1beta1.ShutdownPolicyRetain
		}
		if obj.Spec.PodFailurePolicy == "" {
			obj.Spec.PodFailurePolicy = sandboxv1beta1.PodFailurePolicyIgnore
		}
	case *extensionsv1beta1.SandboxTemplate:
		if obj.Spec.PodFailurePolicy == "" {
			obj.Spec.PodFailurePolicy = sandboxv1beta1.PodFailurePolicyIgnore
		}
	}
}

// replace stores an object that was changed, under the rules of its kind.
func (s *store) replace(who *process, before, after client.Object) client.Object {
	k := kindOf(before)
	if spec := specOf(before); spec != nil && !equality.Semantic.DeepEqual(spec, specOf(after)) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if before.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && !isRunning(before) {
		s.put(who, k, before, nil)
		return after
	}
	s.put(who, k, before, after)
	return after
}

// edit changes an object as a user would; it does nothing when there is none.
func (s *store) edit(k kind, name string, change func(client.Object)) {
	before := s.objects[k][name]
	if before == nil {
		return
	}
	after := copyOf(before)
	change(after)
	if !equality.Semantic.DeepEqual(before, after) {
		s.replace(nil, before, after)
	}
}

// patch is what a patch asks for.
type patch struct {
	kind   kind
	name   string
	of     types.PatchType
	body   []byte
	status bool
}

// patch answers as the API server does: 404 without the object, 409 for another version or, in a merge patch, another UID, and
// 422 for a test that does not hold.
func (s *store) patch(who *process, p patch) (client.Object, error) {
	before, err := s.get(p.kind, p.name)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	patched, err := applied(raw, p)
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: p.kind.String()}, p.name, nil)
	}
	if bytes.Equal(raw, patched) {
		return before, nil
	}
	after := newObject(p.kind)
	if err := json.Unmarshal(patched, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if after.GetUID() != before.GetUID() || after.GetResourceVersion() != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource(p.kind), p.name, fmt.Errorf("the object has been modified"))
	}
	if p.status {
		status := after
		after = copyOf(before)
		setStatus(after, status)
	} else {
		setStatus(after, before)
		after.SetDeletionTimestamp(before.GetDeletionTimestamp())
		after.SetGeneration(before.GetGeneration())
	}
	if equality.Semantic.DeepEqual(before, after) {
		return before, nil
	}
	return s.replace(who, before, after), nil
}

func applied(raw []byte, p patch) ([]byte, error) {
	if p.of == types.MergePatchType {
		return jsonpatch.MergePatch(raw, p.body)
	}
	operations, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, err
	}
	return operations.Apply(raw)
}

// delete answers as the API server does: 404 without the object, 409 for another than the preconditions ask for. A Pod that runs
// goes once its kubelet has stopped it, anything else once its finalizers are gone.
func (s *store) delete(who *process, k kind, name string, options client.DeleteOptions) (client.Object, error) {
	before, err := s.get(k, name)
	if err != nil {
		return nil, err
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != before.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != before.GetResourceVersion() {
			return nil, apierrors.NewConflict(resource(k), name, fmt.Errorf("the precondition failed"))
		}
	}
	foreground := options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground
	after := copyOf(before)
	if foreground && !slices.Contains(after.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		after.SetFinalizers(append(after.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if len(after.GetFinalizers()) == 0 && !isRunning(before) {
		s.put(who, k, before, nil)
		return nil, nil
	}
	if before.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.now.Truncate(time.Second))
		after.SetDeletionTimestamp(&now)
		// What is being deleted counts a generation more.
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return before, nil
	}
	s.put(who, k, before, after)
	return after, nil
}
