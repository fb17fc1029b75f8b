// Package program is the router but for the process that runs it: its flags, its file of settings, and what it is made of.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
	"sigs.k8s.io/agent-sandbox/core/internal/router/serve"
	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// Name is that of the binary, of its image and of its Pods.
const Name = "sandbox-router"

const summary = "sandbox-router is one address for every sandbox: it carries requests to the Pod of the sandbox that they name."

const versionFlag = "version"

// Run parses args and routes until ctx ends. Complaints go to stderr, one line each; the result is the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := newFlags()
	groups := f.groups()
	given, err := app.Parse(Name, groups, args)
	if errors.Is(err, pflag.ErrHelp) {
		app.PrintHelp(stdout, Name, summary, groups)
		return app.ExitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v; see --help\n", Name, err)
		return app.ExitUsage
	}
	if asked, _ := given.GetBool(versionFlag); asked {
		fmt.Fprintln(stdout, Name, version.Get())
		return app.ExitOK
	}
	err = settle(given, f.file, os.LookupEnv)
	if err == nil {
		err = f.validate()
	}
	if err == nil {
		err = route(ctx, f)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", Name, err)
		return app.ExitFailed
	}
	return app.ExitOK
}

// Flags are all flags of the router, for documents.
func Flags() []app.Flag { return app.FlagsOf(newFlags().groups()) }

// RegisterMetrics registers every metric of the router as a start does, for documents.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMetrics(registry)
	return errors.Join(err, serve.RegisterReloads(registry))
}

func newMetrics(registry prometheus.Registerer) (*proxy.Metrics, error) {
	if err := app.RegisterBuildInfo(registry, "sandbox_router_build_info", version.Get()); err != nil {
		return nil, err
	}
	return proxy.NewMetrics(registry)
}

func (f *flags) groups() cliflag.NamedFlagSets {
	var groups cliflag.NamedFlagSets
	f.add(&groups)
	other := groups.FlagSet("Other")
	other.StringVar(&f.file, fileFlag, f.file, "File of settings in YAML, by the names of flags without dashes. The command line wins over it.")
	other.Bool(versionFlag, false, "Print the version and exit.")
	return groups
}
