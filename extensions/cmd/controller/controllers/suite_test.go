package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

var apiServer *testkit.APIServer

func TestMain(m *testing.M) {
	bases := filepath.Join("..", "..", "..", "..", "kustomize", "base")
	os.Exit(testkit.RunTests(m, func(started *testkit.APIServer) { apiServer = started },
		filepath.Join(bases, "core", "crd"), filepath.Join(bases, "extensions", "crd")))
}

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// heldAnnotation on a podTemplate keeps its Sandboxes from becoming Ready.
const heldAnnotation = "test/held"

// world is a user with a namespace, in which Sandboxes become Ready by themselves.
type world struct {
	t         testing.TB
	user      client.WithWatch
	namespace string
	writes    *testkit.Writes // by the controllers
	config    *rest.Config
}

func newWorld(t testing.TB) world {
	t.Helper()
	user, err := client.NewWithWatch(apiServer.Config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatalf("creating the user's client: %v", err)
	}
	counted, writes := testkit.CountWrites(apiServer.Config)
	w := world{t: t, user: user, namespace: testkit.Namespace(t, user), writes: writes, config: counted}
	w.startCore()
	return w
}

func testSettings() Settings {
	return Settings{
		ClaimWorkers: 20, PoolWorkers: 1, TemplateWorkers: 1, RouterNamespace: "router-home", LabelDomains: blueprint.DefaultLabelDomains(),
		ClaimEvents: true, Observability: true, Batch: 300, Grace: 5 * time.Minute, Recheck: time.Minute,
		Evictable: true,
	}
}

// startControllers runs one process of the extensions, for the namespace of this test alone, until the test ends.
func (w world) startControllers(settings Settings) {
	w.t.Helper()
	readYourWrites, skip := true, true
	mgr, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme:     testScheme(w.t),
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{ByObject: CacheOptions(), DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		w.t.Fatalf("creating the manager: %v", err)
	}
	settings.Namespace = w.namespace
	ctx, cancel := context.WithCancel(context.Background())
	w.must("setting the controllers up", Setup(ctx, mgr, settings))
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			w.t.Errorf("the manager ended with %v", err)
		}
	})
}

// startCore stands for the core: Sandboxes are Ready at once, and keep their finalizers.
func (w world) startCore() {
	ctx, cancel := context.WithCancel(context.Background())
	var lastIP atomic.Uint32
	ready := func(obj any) {
		if box, ok := obj.(*sandboxv1beta1.Sandbox); ok && ctx.Err() == nil {
			w.makeReady(ctx, box, fmt.Sprintf("10.0.%d.%d", lastIP.Add(1)/250, lastIP.Load()%250))
		}
	}
	// An informer, since the API server ends the watch of one that falls behind.
	_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: w.listedSandboxes(),
		ObjectType:    &sandboxv1beta1.Sandbox{},
		Handler:       toolscache.ResourceEventHandlerFuncs{AddFunc: ready, UpdateFunc: func(_, obj any) { ready(obj) }},
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-stopped
	})
}

func (w world) listedSandboxes() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &sandboxv1beta1.SandboxList{}
			return list, w.user.List(ctx, list, client.InNamespace(w.namespace), &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return w.user.Watch(ctx, &sandboxv1beta1.SandboxList{}, client.InNamespace(w.namespace), &client.ListOptions{Raw: &options})
		},
	}
}

func (w world) makeReady(ctx context.Context, box *sandboxv1beta1.Sandbox, ip string) {
	_, held := box.Spec.PodTemplate.Metadata.Annotations[heldAnnotation]
	if held || box.DeletionTimestamp != nil || len(box.Status.Conditions) > 0 {
		return
	}
	err := w.becomeReady(ctx, box, ip)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) && ctx.Err() == nil {
		w.t.Errorf("making Sandbox %s ready: %v", box.Name, err)
	}
}

func (w world) becomeReady(ctx context.Context, box *sandboxv1beta1.Sandbox, ip string) error {
	body, err := apply.Status(box.UID, box.Status, sandboxv1beta1.SandboxStatus{
		PodIPs: []string{ip}, NodeName: "node-1",
		Conditions: []metav1.Condition{{
			Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonDependenciesReady,
			Message: "Pod is Ready", ObservedGeneration: box.Generation, LastTransitionTime: metav1.Now(),
		}},
	})
	if err != nil {
		return err
	}
	return w.user.Status().Patch(ctx, box.DeepCopy(), client.RawPatch(types.JSONPatchType, body))
}

func (w world) must(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

func (w world) create(obj client.Object) {
	w.t.Helper()
	obj.SetNamespace(w.namespace)
	w.must(fmt.Sprintf("creating %T %s", obj, obj.GetName()), w.user.Create(context.Background(), obj))
}

func (w world) template(name string, modify ...func(*extensionsv1beta1.SandboxTemplate)) {
	w.t.Helper()
	t := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	for _, change := range modify {
		change(t)
	}
	w.create(t)
}

func (w world) pool(name string, replicas int32, modify ...func(*extensionsv1beta1.SandboxWarmPool)) *extensionsv1beta1.SandboxWarmPool {
	w.t.Helper()
	p := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Replicas, p.Spec.SandboxTemplateRef.Name = ptr.To(replicas), "agent"
	for _, change := range modify {
		change(p)
	}
	w.create(p)
	return p
}

func (w world) claim(name string, modify ...func(*extensionsv1beta1.SandboxClaim)) *extensionsv1beta1.SandboxClaim {
	w.t.Helper()
	c := &extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.WarmPoolRef.Name = "pool"
	for _, change := range modify {
		change(c)
	}
	w.create(c)
	return c
}

func (w world) get(obj client.Object) {
	w.t.Helper()
	w.must("reading "+obj.GetName(), w.user.Get(context.Background(), client.ObjectKeyFromObject(obj), obj))
}

func (w world) sandbox(name string) *sandboxv1beta1.Sandbox {
	w.t.Helper()
	box := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.get(box)
	return box
}

func (w world) sandboxes(labels client.MatchingLabels) []sandboxv1beta1.Sandbox {
	w.t.Helper()
	var list sandboxv1beta1.SandboxList
	w.must("listing Sandboxes", w.user.List(context.Background(), &list, client.InNamespace(w.namespace), labels))
	return list.Items
}

// edit changes an object until no one else does at the same time.
func edit[T client.Object](w world, obj T, change func(T)) {
	w.t.Helper()
	testkit.Eventually(w.t, "the edit lands", func() error {
		if err := w.user.Get(context.Background(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return w.user.Update(context.Background(), obj)
	})
}

// filled waits until a pool has its members Ready.
func (w world) filled(pool *extensionsv1beta1.SandboxWarmPool) {
	w.t.Helper()
	testkit.Eventually(w.t, "pool "+pool.Name+" is full", func() error {
		w.get(pool)
		if pool.Status.ReadyReplicas != *pool.Spec.Replicas || pool.Status.Replicas != *pool.Spec.Replicas {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
}

// bound waits until a claim is Ready and returns its Sandbox.
func (w world) bound(claim *extensionsv1beta1.SandboxClaim) *sandboxv1beta1.Sandbox {
	w.t.Helper()
	w.waitReady(claim, metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
	return w.sandbox(claim.Status.Sandbox.Name)
}

func (w world) waitReady(claim *extensionsv1beta1.SandboxClaim, status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	testkit.Eventually(w.t, fmt.Sprintf("claim %s is Ready=%s %s", claim.Name, status, reason), func() error {
		w.get(claim)
		ready := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason {
			return fmt.Errorf("status %s", asJSON(claim.Status))
		}
		return nil
	})
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
