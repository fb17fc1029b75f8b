package sim

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runKey is under which a context says which reconcile it is of.
type runKey struct{}

// verb is what a call asks for.
type verb int

const (
	createVerb verb = iota
	patchVerb
	deleteVerb
	// readVerb asks the API server.
	readVerb
	// awaitVerb waits until the cache shows what this process has written.
	awaitVerb
	// barrierVerb waits until the caches show what was written before this process led.
	barrierVerb
)

func (v verb) String() string {
	return [...]string{"create", "patch", "delete", "read", "await", "barrier"}[v]
}

func (v verb) writes() bool { return v <= deleteVerb }

// call is what a controller has asked for and waits for.
type call struct {
	by     *process
	of     *run
	verb   verb
	kind   kind
	name   string
	obj    client.Object // to create
	patch  patch
	delete client.DeleteOptions
	// version is what an await waits for, after the writes that it waits for.
	version int64
	after   []*call

	answered bool
	result   client.Object
	err      error
	done     chan struct{}
}

// key orders the calls that wait at the same time.
func (c *call) key() string {
	return fmt.Sprintf("%s %s %s %s %s %s", c.by.id, c.of, c.verb, c.kind, c.name, c.patch.body)
}

func (c *call) String() string {
	text := fmt.Sprintf("%s %s %s %s", c.by.id, c.of, c.verb, c.kind)
	if c.name != "" {
		text += "/" + c.name
	}
	switch {
	case c.verb == patchVerb:
		text += " " + string(c.patch.body)
	case c.verb == deleteVerb && c.delete.Preconditions != nil && c.delete.Preconditions.ResourceVersion != nil:
		text += " at " + *c.delete.Preconditions.ResourceVersion
	}
	return text
}

func (c *call) ready() bool {
	for _, write := range c.after {
		if !write.answered {
			return false
		}
	}
	return true
}

// api is the client of a process. Methods that no controller calls fail.
type api struct {
	client.Client
	by *process
}

// live reads from the API server.
type live struct {
	client.Reader
	by *process
}

var errUnused = errors.New("the simulation has no such call")

// ask hands a call to the scheduler and waits for its answer.
func (p *process) ask(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.by, c.done = p, make(chan struct{})
	c.of, _ = ctx.Value(runKey{}).(*run)
	p.world.submit(c)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l live) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c := &call{verb: readVerb, kind: kindOf(into), name: key.Name}
	if err := l.by.ask(ctx, c); err != nil {
		return err
	}
	l.by.hand(into, c.result)
	return nil
}

func (l live) List(context.Context, client.ObjectList, ...client.ListOption) error { return errUnused }

// hand gives a controller an object of its own.
func (p *process) hand(into, from client.Object) {
	copyInto(into, from)
	if hide := p.world.mutant.sees; hide != nil {
		hide(p, into)
	}
}

func (a api) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	k := kindOf(into)
	if k == noKind {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	if !(&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		if err := a.by.await(ctx, k, key.Name); err != nil {
			return err
		}
	}
	obj := a.by.caches[k].objects[key.Name]
	if obj == nil {
		return apierrors.NewNotFound(resource(k), key.Name)
	}
	a.by.hand(into, obj)
	return nil
}

func (a api) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	k := kindOf(list)
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if k == noKind {
		return nil
	}
	if !options.DisableReadYourWritesConsistency {
		if err := a.by.await(ctx, k, ""); err != nil {
			return err
		}
	}
	c := a.by.caches[k]
	for _, name := range c.names() {
		obj := c.objects[name]
		if options.FieldSelector != nil && !a.by.selects(k, obj, options) {
			continue
		}
		if a.by.world.mutant.sees != nil {
			seen := newObject(k)
			a.by.hand(seen, obj)
			obj = seen
		}
		appendTo(list, obj)
	}
	return nil
}

// selects says whether an index finds the object.
func (p *process) selects(k kind, obj client.Object, options *client.ListOptions) bool {
	for _, wanted := range options.FieldSelector.Requirements() {
		by := p.indexes[k][wanted.Field]
		found := false
		for _, value := range by(obj) {
			found = found || value == wanted.Value
		}
		if !found {
			return false
		}
	}
	return true
}

func (a api) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	return a.write(ctx, &call{verb: createVerb, kind: kindOf(obj), name: obj.GetName(), obj: copyOf(obj)}, obj)
}

func (a api) Patch(ctx context.Context, obj client.Object, p client.Patch, _ ...client.PatchOption) error {
	return a.patch(ctx, obj, p, false)
}

func (a api) patch(ctx context.Context, obj client.Object, p client.Patch, status bool) error {
	body, err := p.Data(obj)
	if err != nil {
		return err
	}
	wanted := patch{kind: kindOf(obj), name: obj.GetName(), of: p.Type(), body: body, status: status}
	if change := a.by.world.mutant.patches; change != nil {
		change(a.by, &wanted)
	}
	return a.write(ctx, &call{verb: patchVerb, kind: wanted.kind, name: wanted.name, patch: wanted}, obj)
}

func (a api) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	c := &call{verb: deleteVerb, kind: kindOf(obj), name: obj.GetName(), delete: *(&client.DeleteOptions{}).ApplyOptions(opts)}
	of, _ := ctx.Value(runKey{}).(*run)
	if change := a.by.world.mutant.deletes; change != nil {
		change(of, &c.delete)
	}
	return a.write(ctx, c, nil)
}

func (a api) write(ctx context.Context, c *call, into client.Object) error {
	if err := a.by.ask(ctx, c); err != nil {
		return err
	}
	if into != nil {
		a.by.hand(into, c.result)
	}
	return nil
}

// Status is the client of the status subresource.
func (a api) Status() client.SubResourceWriter { return status{by: a} }

type status struct {
	client.SubResourceWriter
	by api
}

func (s status) Patch(ctx context.Context, obj client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.by.patch(ctx, obj, p, true)
}

func (a api) Update(context.Context, client.Object, ...client.UpdateOption) error { return errUnused }

func (a api) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnused
}

func (a api) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnused
}

func (a api) Scheme() *runtime.Scheme     { return runtime.NewScheme() }
func (a api) RESTMapper() meta.RESTMapper { return nil }

// await waits until the cache shows what this process has written of an object, or of a kind: first for the answers to the writes
// under way, then for the last version.
func (p *process) await(ctx context.Context, k kind, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.world.mutant.unsynced {
		return nil
	}
	c := &call{verb: awaitVerb, kind: k, name: name, after: p.underWay(k, name)}
	if len(c.after) == 0 && !p.lags(k, name) && !p.world.slowReads {
		return nil
	}
	return p.ask(ctx, c)
}

// lags says whether the cache does not show a write of this process yet.
func (p *process) lags(k kind, name string) bool {
	c := p.caches[k]
	return c.behind() && c.store.logs[k][c.at].version <= p.lastWrite(k, name)
}

func (p *process) lastWrite(k kind, name string) int64 {
	if name != "" {
		return p.written[k][name]
	}
	var last int64
	for _, version := range p.written[k] {
		last = max(last, version)
	}
	return last
}

// key is that of an object in the simulation's namespace.
func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
