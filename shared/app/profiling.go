package app

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"

	"github.com/felixge/fgprof"
	"github.com/spf13/pflag"
)

// ProfilingOptions decide which profiles the metrics server hands out.
type ProfilingOptions struct {
	// CPU serves /debug/pprof/profile.
	CPU bool
	// All serves every endpoint of net/http/pprof, and /debug/fgprof.
	All bool
	// BlockRate is the nanoseconds blocked for each sample of the block profile; 0 takes none.
	BlockRate int
	// MutexFraction is the events of contention for each sample of the mutex profile; 0 takes none.
	MutexFraction int
}

// AddFlags binds the options to flags.
func (o *ProfilingOptions) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.CPU, "enable-pprof", o.CPU, "Serve /debug/pprof/profile on the metrics server.")
	fs.BoolVar(&o.All, "enable-pprof-debug", o.All, "Serve all of /debug/pprof/ and /debug/fgprof on the metrics server; implies --enable-pprof.")
	fs.IntVar(&o.BlockRate, "pprof-block-profile-rate", o.BlockRate, "With --enable-pprof-debug, nanoseconds blocked for each sample of the block profile; 0 and less take none.")
	fs.IntVar(&o.MutexFraction, "pprof-mutex-profile-fraction", o.MutexFraction, "With --enable-pprof-debug, contention events for each sample of the mutex profile; 0 and less take none.")
}

// Flag is the one that asks for profiles; empty when none does.
func (o ProfilingOptions) Flag() string {
	switch {
	case o.All:
		return "enable-pprof-debug"
	case o.CPU:
		return "enable-pprof"
	default:
		return ""
	}
}

// Handlers are the endpoints by path. Starting to sample is part of it, since nobody could read the samples otherwise.
func (o ProfilingOptions) Handlers() map[string]http.Handler {
	served := map[string]http.Handler{}
	var alone sync.Mutex
	if o.CPU || o.All {
		served["/debug/pprof/profile"] = oneAtATime(&alone, http.HandlerFunc(pprof.Profile))
	}
	if o.All {
		runtime.SetBlockProfileRate(max(o.BlockRate, 0))
		runtime.SetMutexProfileFraction(max(o.MutexFraction, 0))
		served["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		served["/debug/pprof/cmdline"] = http.HandlerFunc(pprof.Cmdline)
		served["/debug/pprof/symbol"] = http.HandlerFunc(pprof.Symbol)
		served["/debug/pprof/trace"] = oneAtATime(&alone, http.HandlerFunc(pprof.Trace))
		served["/debug/fgprof"] = oneAtATime(&alone, fgprof.Handler())
	}
	return served
}

// oneAtATime refuses a profile over a duration while another is being taken: each would show the other.
func oneAtATime(alone *sync.Mutex, profile http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if !alone.TryLock() {
			http.Error(writer, "another profile is being taken: try again when it is done", http.StatusTooManyRequests)
			return
		}
		defer alone.Unlock()
		profile.ServeHTTP(writer, request)
	})
}
