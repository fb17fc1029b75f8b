package proxy

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// headerTimeout carries how long a client waits, in seconds or as a duration like 90s. It counts in place of what the flags say.
const headerTimeout = "X-Sandbox-Timeout"

// longestTimeout is what a client may ask for.
const longestTimeout = 24 * time.Hour

// Why an exchange ends before its time.
var (
	errTimeout = errors.New("the sandbox did not answer in time")
	errPodGone = errors.New("the Pod of the sandbox is gone")
)

// exchange is a request on its way to a sandbox, and the answer.
type exchange struct {
	wanted   target.Target
	endpoint resolve.Endpoint
	// inHost is the host that the client asked for.
	inHost string
	// fault is what a client was told in place of an answer; nil: nothing.
	fault error
	limits
}

// limits end an exchange that takes too long, or whose Pod is gone.
type limits struct {
	clock  clock.WithDelayedExecution
	cancel context.CancelCauseFunc
	// header bounds the wait for the beginning of the answer; 0: nothing does.
	header time.Duration

	mu       sync.Mutex
	answered bool
	switched bool
	// whole and waiting run out when it takes too long; nil: there is none.
	whole, waiting clock.Timer
	// leave ends the watch over the life of the Pod, and calm that over the reading of the body.
	leave, calm func() bool
	// interrupted is closed once an end from without has reached the connection.
	interrupted chan struct{}
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// begin returns the context of the exchange, in which its time runs. interrupt is called when the exchange is ended from without.
func (x *exchange) begin(request *http.Request, o Options, c clock.WithDelayedExecution, interrupt func()) context.Context {
	ctx, cancel := context.WithCancelCause(request.Context())
	whole, header := o.Timeout, o.HeaderTimeout
	if asked, ok := askedTimeout(request.Header.Get(headerTimeout)); ok {
		whole, header = asked, asked
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock, x.cancel, x.header, x.inHost = c, cancel, header, request.Host
	interrupted := make(chan struct{})
	x.interrupted = interrupted
	x.calm = context.AfterFunc(ctx, func() {
		defer close(interrupted)
		interrupt()
	})
	if whole > 0 {
		x.whole = c.AfterFunc(whole, x.runOut)
	}
	return context.WithValue(ctx, exchangeKey{}, x)
}

// askedTimeout reads the header of a client; false where it holds no time.
func askedTimeout(value string) (time.Duration, bool) {
	const bits = 64
	if value == "" {
		return 0, false
	}
	asked, err := time.ParseDuration(value)
	if seconds, notSeconds := strconv.ParseFloat(strings.TrimSpace(value), bits); notSeconds == nil {
		asked, err = time.Duration(min(seconds, longestTimeout.Seconds())*float64(time.Second)), nil
	}
	if err != nil || asked <= 0 {
		return 0, false
	}
	return min(asked, longestTimeout), true
}

func (l *limits) runOut() { l.cancel(errTimeout) }

// watch has the exchange end with the Pod that it goes to.
func (l *limits) watch(endpoint resolve.Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leave != nil {
		l.leave()
	}
	l.leave = context.AfterFunc(endpoint.Life, func() { l.cancel(errPodGone) })
}

// sent starts the wait for the answer, unless that has begun already.
func (l *limits) sent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered || l.header <= 0 {
		return
	}
	stop(l.waiting)
	l.waiting = l.clock.AfterFunc(l.header, l.runOut)
}

// begun ends that wait. An answer of which nobody knows how long it takes may take as long as it likes.
func (l *limits) begun(response *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered, l.switched = true, response.StatusCode == http.StatusSwitchingProtocols
	stop(l.waiting)
	if streams(response) {
		stop(l.whole)
	}
}

// upgraded says whether the connection speaks another protocol by now.
func (l *limits) upgraded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.switched
}

// end stops whatever still runs, or waits for it: what an exchange writes to is not to be touched after it. It may be called again.
func (l *limits) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = true
	stop(l.whole)
	stop(l.waiting)
	if l.leave != nil {
		l.leave()
	}
	if l.calm == nil {
		return
	}
	if !l.calm() {
		<-l.interrupted
	}
	l.calm = nil
	l.cancel(nil)
}

func stop(timer clock.Timer) {
	if timer != nil {
		timer.Stop()
	}
}

// streams says whether an answer is one without an end that is known: an upgraded connection, server-sent events, or no length.
func streams(response *http.Response) bool {
	return response.StatusCode == http.StatusSwitchingProtocols || response.ContentLength < 0 ||
		strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
}
