package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Key names a claim.
type Key struct {
	// Namespace and ClaimName are the claim's.
	Namespace, ClaimName string
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.ClaimName }

func (k Key) validate() error {
	if problems := validation.IsDNS1123Label(k.Namespace); len(problems) > 0 {
		return fmt.Errorf("namespace %q: %s", k.Namespace, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Subdomain(k.ClaimName); len(problems) > 0 {
		return fmt.Errorf("claim name %q: %s", k.ClaimName, strings.Join(problems, "; "))
	}
	return nil
}

// registry keeps the one Sandbox that callers of a claim share. It is safe for concurrent use.
type registry struct {
	mu    sync.Mutex
	known map[Key]*Sandbox
}

func newRegistry() *registry { return &registry{known: map[Key]*Sandbox{}} }

// loadOrStore returns the Sandbox of a key; where there is none it makes one, which nobody else has.
func (r *registry) loadOrStore(key Key, make func(Key) *Sandbox) *Sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[key] == nil {
		r.known[key] = make(key)
	}
	return r.known[key]
}

func (r *registry) load(key Key) *Sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

// keep has a Sandbox be that of its key, unless another is: that one is returned.
func (r *registry) keep(sb *Sandbox) *Sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := sb.key()
	if r.known[key] == nil {
		r.known[key] = sb
	}
	return r.known[key]
}

// drop forgets a Sandbox, wherever it is.
func (r *registry) drop(sb *Sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ Key, known *Sandbox) bool { return known == sb })
}

// settle forgets a Sandbox that could not be opened, unless it has been meanwhile, or has a claim left to delete: that is kept, so that
// it can be.
func (r *registry) settle(sb *Sandbox) {
	if sb.inUse() {
		r.keep(sb)
		return
	}
	r.drop(sb)
}

func (r *registry) all() []*Sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.known))
}

func (r *registry) keys() []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.known), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ClaimName, b.ClaimName))
	})
}
