package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace/noop"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Flag is a flag as documents tell it.
type Flag struct {
	// Group is that of the help.
	Group string
	Name  string
	// Type is as in the help: bool, int, duration and so on.
	Type    string
	Default string
	Usage   string
	// Inert says that the program accepts the flag and does nothing with it.
	Inert bool
}

// Flags are all flags of a program, group by group, in the order of the help.
func Flags(program Program) []Flag { return FlagsOf(flagGroups(program)) }

// FlagsOf are all flags of these groups, in their order.
func FlagsOf(groups cliflag.NamedFlagSets) []Flag {
	var all []Flag
	for _, group := range groups.Order {
		groups.FlagSets[group].VisitAll(func(f *pflag.Flag) {
			all = append(all, Flag{
				Group: group, Name: f.Name, Type: f.Value.Type(), Default: f.DefValue, Usage: f.Usage, Inert: group == inertGroup,
			})
		})
	}
	return all
}

// RegisterMetrics registers every metric of a program as a start does, for documents. The manager need not start, nor reach an API
// server.
func RegisterMetrics(ctx context.Context, program Program, mgr manager.Manager, registry prometheus.Registerer) error {
	environment, err := equip(program, mgr, newBackstage(), registry)
	if err != nil {
		return err
	}
	environment.Tracer = noop.NewTracerProvider().Tracer(program.Name)
	return program.Setup(ctx, environment)
}
