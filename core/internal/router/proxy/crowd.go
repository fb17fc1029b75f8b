package proxy

import (
	"context"
	"sync"
)

// crowd counts the requests that are under way.
type crowd struct {
	most int

	mu  sync.Mutex
	now int
	// empty is closed when nobody is there any more; nil: nobody waits for that.
	empty chan struct{}
}

func newCrowd(most int) *crowd { return &crowd{most: most} }

// enter counts a request, which must leave. It says whether there is room for it.
func (c *crowd) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	return c.most <= 0 || c.now <= c.most
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	if c.now == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// idle waits until nobody is there.
func (c *crowd) idle(ctx context.Context) error {
	c.mu.Lock()
	if c.now == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	empty := c.empty
	c.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
