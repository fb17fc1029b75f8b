package chaos

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestUsersAskAgainUntilTheyAreAnswered(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	cases := map[string]struct {
		answer error
		want   bool
	}{
		"done":                  {nil, true},
		"not there":             {apierrors.NewNotFound(resource, "x"), true},
		"exists":                {apierrors.NewAlreadyExists(resource, "x"), true},
		"refused":               {apierrors.NewForbidden(resource, "x", errors.New("no")), true},
		"kind is not there yet": {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, "x", "404 page not found", 0, true), false},
		"nobody listens":        {syscall.ECONNREFUSED, false},
		"broken off":            {io.ErrUnexpectedEOF, false},
		"etcd is not there":     {apierrors.NewInternalError(errors.New("etcd")), false},
		"took too long":         {apierrors.NewTimeoutError("slow", 1), false},
		"a gateway's answer":    {apierrors.NewServiceUnavailable("starting"), false},
		"too many requests":     {apierrors.NewTooManyRequests("starting", 1), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(Stage{}, Settings{}, nil, newDiary(time.Now(), io.Discard))
			asked := 0
			err := p.persist(t.Context(), func() error {
				asked++
				if asked == 1 {
					return c.answer
				}
				return nil
			})
			if wanted := map[bool]int{true: 1, false: 2}[c.want]; asked != wanted {
				t.Errorf("asked %d times, want %d", asked, wanted)
			}
			if c.want && !errors.Is(err, c.answer) || !c.want && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOutagesDisturbForAWhile(t *testing.T) {
	p := newPlay(Stage{}, Settings{}, nil, newDiary(time.Now(), io.Discard))
	now := time.Now()
	if p.outages.disturbed(now) {
		t.Error("disturbed before any outage")
	}
	p.outages.begin()
	if !p.outages.disturbed(now.Add(time.Hour)) {
		t.Error("not disturbed during an outage")
	}
	p.outages.end()
	if !p.outages.disturbed(now.Add(aftershock/2)) || p.outages.disturbed(now.Add(2*aftershock)) {
		t.Error("want it disturbed a while after an outage, and not for ever")
	}
	if astray := p.deeds.Astray(now, time.Now()); astray != 2 {
		t.Errorf("%d times astray, want 2: at the begin and at the end", astray)
	}
}
