package sandbox

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// EnableAutoCleanup has an interrupt or a request to terminate (SIGINT, SIGTERM) delete all sandboxes that this Client handed out, within
// CleanupTimeout, before the program ends by that signal. The function that it returns takes that back, and waits for a cleanup that is
// under way.
func (c *Client) EnableAutoCleanup() (stop func()) {
	return c.cleanUpOn(func(received os.Signal) {
		// Nobody listens any more, so that it does what it does by default.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(received)
		}
	})
}

func (c *Client) cleanUpOn(end func(os.Signal)) (stop func()) {
	signals, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(ended)
		defer signal.Stop(signals)
		select {
		case received := <-signals:
			c.cleanUp()
			signal.Stop(signals)
			end(received)
		case <-done:
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(done) })
		<-ended
	}
}

func (c *Client) cleanUp() {
	ctx, stop := context.WithTimeout(context.Background(), c.options.CleanupTimeout)
	defer stop()
	if err := c.DeleteAll(ctx); err != nil {
		c.log.Error(err, "cannot delete all sandboxes")
	}
}
