package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"sigs.k8s.io/agent-sandbox/shared/version"
)

// inClusterNamespaceFile is where a Pod finds the name of its namespace.
const inClusterNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Exit codes of a program.
const (
	// ExitOK : it was asked to stop, or only to print something.
	ExitOK = 0
	// ExitFailed : it could not start, or could not go on.
	ExitFailed = 1
	// ExitUsage : a flag is unknown or its value cannot be read.
	ExitUsage = 2
)

// Program is a controller manager.
type Program struct {
	// Name is that of the binary, and of its Lease.
	Name string
	// Summary is the sentence that opens --help.
	Summary string
	Scheme  *runtime.Scheme
	Options *Options
	// Cache says what the informers keep of each kind that the controllers read.
	Cache func(*Options) (map[client.Object]cache.ByObject, error)
	// AddFlags binds the program's own flags.
	AddFlags func(*cliflag.NamedFlagSets)
	// AddInertFlags binds flags that are accepted and do nothing, since they concern another binary. Their usage says which.
	AddInertFlags func(*pflag.FlagSet)
	// Validate returns the first of the program's own flags that is out of bounds.
	Validate func() error
	// Warnings are things to tell at the start about the flags.
	Warnings func() []string
	// Setup registers the controllers.
	Setup func(context.Context, Environment) error
}

// inertGroup is the name of the group of flags that do nothing; help puts "flags" behind it.
const inertGroup = "Other controller's"

// versionFlag prints the version.
const versionFlag = "version"

// Run parses args and works until ctx ends. Complaints go to stderr, one line each; the result is the exit code.
func Run(ctx context.Context, program Program, args []string, stdout, stderr io.Writer) int {
	groups := flagGroups(program)
	flags, err := Parse(program.Name, groups, args)
	if err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			PrintHelp(stdout, program.Name, program.Summary, groups)
			return ExitOK
		}
		fmt.Fprintf(stderr, "%s: %v; see --help\n", program.Name, err)
		return ExitUsage
	}
	if asked, _ := flags.GetBool(versionFlag); asked {
		fmt.Fprintln(stdout, program.Name, version.Get())
		return ExitOK
	}
	err = readTunables(tunablesDir, flags)
	if err == nil {
		err = errors.Join(program.Options.Validate(), program.Validate())
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program.Name, firstLine(err))
		return ExitFailed
	}
	if err := serve(ctx, program, inert(groups.FlagSet(inertGroup))); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program.Name, err)
		return ExitFailed
	}
	return ExitOK
}

// flagGroups binds all flags of the program, in the groups of its help.
func flagGroups(program Program) cliflag.NamedFlagSets {
	var groups cliflag.NamedFlagSets
	program.Options.AddFlags(&groups)
	program.AddFlags(&groups)
	program.AddInertFlags(groups.FlagSet(inertGroup))
	groups.FlagSet("Other").Bool(versionFlag, false, "Print the version and exit.")
	return groups
}

// Parse reads args, which are flags of the groups and nothing else. The error is pflag.ErrHelp where help is asked for.
func Parse(name string, groups cliflag.NamedFlagSets, args []string) (*pflag.FlagSet, error) {
	all := pflag.NewFlagSet(name, pflag.ContinueOnError)
	all.SortFlags = false
	all.Usage = func() {}
	for _, group := range groups.Order {
		all.AddFlagSet(groups.FlagSets[group])
	}
	if err := all.Parse(args); err != nil {
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			return nil, OutOfBounds(wrong.GetFlag().Name, wrong.GetValue(), "must be "+kindOfValue(wrong.GetFlag().Value.Type()))
		}
		return nil, err
	}
	if rest := all.Args(); len(rest) > 0 {
		return nil, fmt.Errorf("unexpected argument %q: everything is set by flags", rest[0])
	}
	return all, nil
}

// kindOfValue describes what a type of flag takes.
func kindOfValue(flagType string) string {
	switch flagType {
	case "int":
		return "a whole number"
	case "float32", "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration like 30s or 1m30s"
	default:
		return "of type " + flagType
	}
}

// inert are the flags of a set that were given.
func inert(flags *pflag.FlagSet) []*pflag.Flag {
	var given []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given = append(given, f)
		}
	})
	return given
}

// PrintHelp writes what the program of that name is, and the flags of the groups.
func PrintHelp(out io.Writer, name, summary string, groups cliflag.NamedFlagSets) {
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s [flags]\n", summary, name)
	const columns = 120
	var sections strings.Builder
	cliflag.PrintSections(&sections, groups, columns)
	for line := range strings.Lines(sections.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}

// firstLine unwraps joined errors: users mend one flag at a time.
func firstLine(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()[0]
	}
	return err
}

func serve(ctx context.Context, program Program, inert []*pflag.Flag) error {
	log := zap.New(zap.UseFlagOptions(&program.Options.Logging))
	setLogger(log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server (set --kubeconfig or KUBECONFIG outside a cluster): %w", err)
	}
	config.QPS, config.Burst = program.Options.Client.QPS, program.Options.Client.Burst
	config.UserAgent = program.Name + "/" + version.Get().GitVersion

	if err := program.Options.LeaderElection.findNamespace(inClusterNamespaceFile); err != nil {
		return err
	}
	for _, flag := range inert {
		log.Info("Flag has no effect in this binary", "flag", flag.Name, "usage", flag.Usage)
	}
	for _, warning := range program.Warnings() {
		log.Info("Warning: " + warning)
	}
	environment, stop, err := newEnvironment(ctx, program, config, log)
	if err != nil {
		return err
	}
	defer stop()
	if err := program.Setup(ctx, environment); err != nil {
		return err
	}
	log.Info("Starting", "version", version.Get().GitVersion, "leaderElection", program.Options.LeaderElection.Enabled)
	if err := environment.Manager.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func setLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log)
}
