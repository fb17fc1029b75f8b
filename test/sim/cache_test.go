package sim

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listener is a handler of an informer. It lags behind the cache by itself.
type listener struct {
	at   int
	tell func(before, after client.Object)
}

// cached is what one process knows of one kind: the log of the store up to some point.
type cached struct {
	kind      kind
	store     *store
	at        int
	objects   map[string]client.Object
	listeners []*listener
}

// newCached returns what a list shows that was answered from the state after so many changes.
func newCached(s *store, k kind, at int) *cached {
	c := &cached{kind: k, store: s, objects: map[string]client.Object{}}
	for c.at < at {
		c.advance()
	}
	return c
}

// listen tells a handler everything that is cached, and what changes from then on.
func (c *cached) listen(tell func(before, after client.Object)) {
	for _, name := range c.names() {
		tell(nil, c.objects[name])
	}
	c.listeners = append(c.listeners, &listener{at: c.at, tell: tell})
}

func (c *cached) names() []string {
	names := make([]string, 0, len(c.objects))
	for name := range c.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *cached) behind() bool { return c.at < len(c.store.logs[c.kind]) }

// silent says whether a handler has not been told yet what the cache shows.
func (c *cached) silent() bool {
	return slices.ContainsFunc(c.listeners, func(l *listener) bool { return l.at < c.at })
}

// advance takes one change in.
func (c *cached) advance() {
	next := c.store.logs[c.kind][c.at]
	c.at++
	if next.after == nil {
		delete(c.objects, next.name())
	} else {
		c.objects[next.name()] = next.after
	}
}

// tell hands one handler its next change.
func (c *cached) tell(l *listener) {
	next := c.store.logs[c.kind][l.at]
	l.at++
	l.tell(next.before, next.after)
}

// catchUp takes in every change up to a version.
func (c *cached) catchUp(version int64) {
	for c.behind() && c.store.logs[c.kind][c.at].version <= version {
		c.advance()
	}
}

// tellAll hands every handler all that the cache shows.
func (c *cached) tellAll() {
	for _, l := range c.listeners {
		for l.at < c.at {
			c.tell(l)
		}
	}
}
