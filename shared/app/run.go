package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

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
	// Cache says what the informers keep of each kind.
	Cache map[client.Object]cache.ByObject
	// AddFlags binds the program's own flags.
	AddFlags func(*cliflag.NamedFlagSets)
	// Validate returns the first of the program's own flags that is out of bounds.
	Validate func() error
	// Setup registers the controllers.
	Setup func(context.Context, manager.Manager) error
}

// Run parses args and works until ctx ends. Complaints go to stderr, one line each; the result is the exit code.
func Run(ctx context.Context, program Program, args []string, stdout, stderr io.Writer) int {
	var groups cliflag.NamedFlagSets
	program.Options.AddFlags(&groups)
	program.AddFlags(&groups)
	showVersion := groups.FlagSet("Other").Bool("version", false, "Print the version and exit.")

	if err := parse(program, groups, args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			printHelp(stdout, program, groups)
			return ExitOK
		}
		fmt.Fprintf(stderr, "%s: %v; see --help\n", program.Name, err)
		return ExitUsage
	}
	if *showVersion {
		fmt.Fprintln(stdout, program.Name, version.Get())
		return ExitOK
	}
	if err := errors.Join(program.Options.Validate(), program.Validate()); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program.Name, firstLine(err))
		return ExitFailed
	}
	if err := serve(ctx, program); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program.Name, err)
		return ExitFailed
	}
	return ExitOK
}

func parse(program Program, groups cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet(program.Name, pflag.ContinueOnError)
	all.SortFlags = false
	all.Usage = func() {}
	for _, name := range groups.Order {
		all.AddFlagSet(groups.FlagSets[name])
	}
	if err := all.Parse(args); err != nil {
		return err
	}
	if rest := all.Args(); len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q: everything is set by flags", rest[0])
	}
	return nil
}

func printHelp(out io.Writer, program Program, groups cliflag.NamedFlagSets) {
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s [flags]\n", program.Summary, program.Name)
	const columns = 120
	cliflag.PrintSections(out, groups, columns)
}

// firstLine unwraps joined errors: users mend one flag at a time.
func firstLine(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()[0]
	}
	return err
}

func serve(ctx context.Context, program Program) error {
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
	options, err := managerOptions(program, log)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := addProbes(mgr); err != nil {
		return err
	}
	if err := program.Setup(ctx, mgr); err != nil {
		return err
	}
	log.Info("Starting", "version", version.Get().GitVersion, "leaderElection", program.Options.LeaderElection.Enabled)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func setLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log)
}

func managerOptions(program Program, log logr.Logger) (manager.Options, error) {
	options := program.Options
	tlsOptions, err := options.Metrics.tlsOptions()
	if err != nil {
		return manager.Options{}, err
	}
	metrics := metricsserver.Options{
		BindAddress:   options.Metrics.Address,
		SecureServing: options.Metrics.Secure,
		CertDir:       options.Metrics.CertDir,
		TLSOpts:       tlsOptions,
	}
	if options.Metrics.Authorization {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	readYourWrites := true
	return manager.Options{
		Scheme:                        program.Scheme,
		Logger:                        log,
		Metrics:                       metrics,
		HealthProbeBindAddress:        options.HealthAddress,
		LeaderElection:                options.LeaderElection.Enabled,
		LeaderElectionID:              program.Name + ".agents.x-k8s.io",
		LeaderElectionNamespace:       options.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &options.LeaderElection.LeaseDuration,
		RenewDeadline:                 &options.LeaderElection.RenewDeadline,
		RetryPeriod:                   &options.LeaderElection.RetryPeriod,
		Cache:                         cache.Options{ByObject: program.Cache, DefaultTransform: cache.TransformStripManagedFields()},
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}},
	}, nil
}

func addProbes(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness probe: %w", err)
	}
	synced := func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("the informers have not synced yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("informers", synced); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
