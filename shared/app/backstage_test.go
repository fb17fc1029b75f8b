package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/agent-sandbox/shared/events"
)

// held answers no request before it is let go, and counts those that have reached it.
type held struct {
	let     chan struct{}
	reached []string
}

func (h *held) RoundTrip(request *http.Request) (*http.Response, error) {
	h.reached = append(h.reached, request.Method+" "+request.URL.Path)
	<-h.let
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
}

func send(ctx context.Context, over http.RoundTripper, method, path string) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://api"+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	answer, err := over.RoundTrip(request)
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

const (
	eventsPath = "/apis/events.k8s.io/v1/namespaces/ns/events"
	podsPath   = "/api/v1/namespaces/events/pods"
)

func TestEventsWaitForEachOtherAndNothingElseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &held{let: make(chan struct{})}
		backstage := newBackstage()
		one, another := backstage.wrap(server), backstage.wrap(server)
		go func() { _ = send(t.Context(), one, http.MethodPost, eventsPath) }()
		synctest.Wait()
		go func() { _ = send(t.Context(), another, http.MethodPatch, eventsPath+"/some.event") }()
		synctest.Wait()
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			go func() { _ = send(t.Context(), one, method, podsPath) }()
			synctest.Wait()
		}
		if want := "POST " + eventsPath + ",POST " + podsPath + ",GET " + podsPath; strings.Join(server.reached, ",") != want {
			t.Errorf("under way: %v", server.reached)
		}
		for range 3 {
			server.let <- struct{}{}
		}
		synctest.Wait()
		if len(server.reached) != 4 || !strings.HasPrefix(server.reached[3], "PATCH") {
			t.Errorf("once the first is answered: %v", server.reached)
		}
		server.let <- struct{}{}
	})
}

func TestAnEventThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &held{let: make(chan struct{})}
		over := newBackstage().wrap(server)
		go func() { _ = send(t.Context(), over, http.MethodPost, eventsPath) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := send(ctx, over, http.MethodPost, eventsPath); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		server.let <- struct{}{}
	})
}

// sink takes Events as client-go does: a goroutine sends each.
type sink struct {
	t    *testing.T
	over http.RoundTripper
}

func (s sink) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {
	go func() { _ = send(s.t.Context(), s.over, http.MethodPost, eventsPath) }()
	synctest.Wait()
}

// An API server that takes Events more slowly than they happen keeps a bounded number waiting; the others are counted.
func TestEventsThatCannotBeSentInTimeAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &held{let: make(chan struct{})}
		backstage := newBackstage()
		registry := prometheus.NewRegistry()
		recorder, err := limitedEvents(sink{t, backstage.wrap(server)}, backstage, registry)
		if err != nil {
			t.Fatal(err)
		}
		for range mostEvents + 7 {
			recorder.Emit(nil, events.Normal("Reason", "Act", "note"))
		}
		if waiting := backstage.waiting.Load(); waiting != mostEvents {
			t.Errorf("%d wait, want %d", waiting, mostEvents)
		}
		const counted = "# HELP agent_sandbox_events_dropped_total Events that were not sent, since too many waited to be.\n" +
			"# TYPE agent_sandbox_events_dropped_total counter\nagent_sandbox_events_dropped_total 7\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(counted)); err != nil {
			t.Error(err)
		}
		for range mostEvents {
			server.let <- struct{}{}
		}
		synctest.Wait()
		recorder.Emit(nil, events.Normal("Reason", "Act", "note"))
		if waiting := backstage.waiting.Load(); waiting != 1 {
			t.Errorf("once there is room again %d wait, want 1", waiting)
		}
		server.let <- struct{}{}
	})
}
