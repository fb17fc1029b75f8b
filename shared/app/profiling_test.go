package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

func TestProfilesAreServedAsAsked(t *testing.T) {
	cases := map[string]struct {
		options ProfilingOptions
		flag    string
		paths   []string
	}{
		"none":     {ProfilingOptions{}, "", nil},
		"CPU only": {ProfilingOptions{CPU: true}, "enable-pprof", []string{"/debug/pprof/profile"}},
		"all":      {ProfilingOptions{All: true, BlockRate: -1, MutexFraction: -1}, "enable-pprof-debug", []string{"/debug/fgprof", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/profile", "/debug/pprof/symbol", "/debug/pprof/trace"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for path := range tc.options.Handlers() {
				paths = append(paths, path)
			}
			slices.Sort(paths)
			if !slices.Equal(paths, tc.paths) || tc.options.Flag() != tc.flag {
				t.Errorf("%s serves %v", tc.options.Flag(), paths)
			}
		})
	}
}

// A8.7.
func TestASecondProfileAtATimeIsRefused(t *testing.T) {
	var alone sync.Mutex
	started, finish := make(chan struct{}), make(chan struct{})
	slow := oneAtATime(&alone, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(started)
		<-finish
	}))
	other := oneAtATime(&alone, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	get := func(handler http.Handler) int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/fgprof", http.NoBody))
		return answer.Code
	}
	first := make(chan int)
	go func() { first <- get(slow) }()
	<-started
	if code := get(other); code != http.StatusTooManyRequests {
		t.Errorf("the second one answers %d", code)
	}
	close(finish)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first one answers %d", code)
	}
	if code := get(other); code != http.StatusOK {
		t.Errorf("afterwards it answers %d", code)
	}
}
