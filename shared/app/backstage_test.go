package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
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
		wrap := eventsBackstage()
		one, another := wrap(server), wrap(server)
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
		over := eventsBackstage()(server)
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
