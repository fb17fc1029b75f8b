package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/manifest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// What --dry-run says.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// making is what create and claim have in common.
type making struct {
	waiting waiting
	output  *output
	dryRun  string
}

func newMaking(cmd *cobra.Command) *making {
	m := &making{output: newOutput("created")}
	m.output.add(cmd)
	m.waiting.add(cmd, "it is ready")
	cmd.Flags().StringVar(&m.dryRun, "dry-run", dryRunNone, "none, client: only print what would be made, or server: have the API server check it, too.")
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
	return m
}

func (m *making) validate() error {
	switch m.dryRun {
	case dryRunNone, dryRunClient, dryRunServer:
		return m.waiting.validate()
	}
	return UsageError{fmt.Errorf("--dry-run=%q: choose none, client or server", m.dryRun)}
}

func (t *tool) create() *cobra.Command {
	var (
		options   manifest.SandboxOptions
		files     []string
		runAsUser int64
	)
	cmd := &cobra.Command{
		Use:     "create (NAME --image=IMAGE [-- ARGS...] | -f FILE)",
		Short:   "Make a Sandbox, and wait until it is ready",
		GroupID: groupLife,
		Long: `Make a Sandbox of one container, and wait until it is ready.

It gets no token of the cluster, no capabilities, no way to gain privileges, and the default seccomp profile. For anything else
write a manifest: --dry-run=client -o yaml prints one to begin with, and -f makes what a manifest has.`,
		Example: `  kubectl sandbox create my-sandbox --image=python:3.13 -- sleep infinity
  kubectl sandbox create my-sandbox --image=python:3.13 --disk=workspace=1Gi:/workspace --ttl=8h --runtime-class=gvisor
  kubectl sandbox create my-sandbox --image=python:3.13 --dry-run=client -o yaml
  kubectl sandbox create -f my-sandbox.yaml --timeout=10m`,
	}
	m := newMaking(cmd)
	flags := cmd.Flags()
	flags.StringVar(&options.Image, "image", "", "Image of the container.")
	flags.StringArrayVarP(&options.Env, "env", "e", nil, "Variable of the container, as NAME=VALUE. May be given several times.")
	flags.StringArrayVar(&options.Disks, "disk", nil, "Disk that outlives the Pod, as NAME=SIZE:PATH. May be given several times.")
	flags.StringVar(&options.CPU, "cpu", "", "CPU that is requested, and not to be exceeded, as 500m.")
	flags.StringVar(&options.Memory, "memory", "", "Memory that is requested, and not to be exceeded, as 1Gi.")
	flags.StringVar(&options.RuntimeClass, "runtime-class", "", "RuntimeClass that isolates it.")
	flags.BoolVar(&options.Service, "service", false, "Give it a DNS name.")
	flags.DurationVar(&options.TTL, "ttl", 0, "How long it lives; 0 is for ever.")
	flags.Int64Var(&runAsUser, "run-as-user", 0, "User ID of its processes, as a namespace of the level restricted wants it. Unset is what the image has.")
	flags.StringArrayVarP(&files, "filename", "f", nil, "File, directory or URL with manifests of Sandboxes, claims, pools or templates; - is standard input.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := m.validate(); err != nil {
			return err
		}
		if flags.Changed("run-as-user") {
			options.RunAsUser = ptr.To(runAsUser)
		}
		if len(files) > 0 {
			if err := aboutManifests(flags); err != nil {
				return err
			}
			return t.createFiles(cmd.Context(), m, files, args)
		}
		return t.createNamed(cmd.Context(), m, options, args)
	}
	return cmd
}

// aboutManifests refuses flags that say what the manifests of -f say themselves.
func aboutManifests(flags *pflag.FlagSet) error {
	for _, name := range []string{"image", "env", "disk", "cpu", "memory", "runtime-class", "service", "ttl", "run-as-user"} {
		if flags.Changed(name) {
			return UsageError{fmt.Errorf("--%s: the manifests of -f say themselves what is made: leave one of both out", name)}
		}
	}
	return nil
}

func (t *tool) createNamed(ctx context.Context, m *making, options manifest.SandboxOptions, args []string) error {
	if len(args) == 0 || options.Image == "" {
		return UsageError{fmt.Errorf("a Sandbox needs a NAME and an --image, or -f; see `kubectl sandbox create --help`")}
	}
	ref, err := parseAs(target.Sandbox, args[0])
	if err != nil {
		return err
	}
	c, err := t.connect()
	if err != nil {
		return err
	}
	options.Namespace, options.Name, options.Command = c.Namespace, ref.Name, args[1:]
	sandbox, err := manifest.Sandbox(options, t.Clock.Now())
	if err != nil {
		return UsageError{err}
	}
	return t.make(ctx, c, m, sandbox)
}

// make makes an object as the flags say, and waits for it.
func (t *tool) make(ctx context.Context, c *cluster.Cluster, m *making, object client.Object) error {
	done, err := m.create(ctx, c, object)
	if err != nil {
		return err
	}
	waits := m.waiting.wait && m.dryRun == dryRunNone && waitable(object)
	if !waits || m.output.forPeople() {
		if err := t.print(m.output, object.DeepCopyObject(), done); err != nil {
			return err
		}
	}
	if !waits {
		return nil
	}
	seen, err := t.until(ctx, c, m.waiting, object, "be ready", await.Ready)
	if err != nil {
		return err
	}
	if m.output.forPeople() {
		fmt.Fprintf(t.Streams.Out, "%s is ready\n", target.Of(seen))
		return nil
	}
	return t.print(m.output, seen, done)
}

// create sends the object, unless that is not wanted, and returns how to say so.
func (m *making) create(ctx context.Context, c *cluster.Cluster, object client.Object) (string, error) {
	options := []client.CreateOption{client.FieldOwner(fieldOwner), client.FieldValidation(metav1.FieldValidationStrict)}
	done := "%s"
	switch m.dryRun {
	case dryRunClient:
		return "%s (dry run)", nil
	case dryRunServer:
		options, done = append(options, client.DryRunAll), "%s (server dry run)"
	}
	if err := c.Client.Create(ctx, object, options...); err != nil {
		return "", fmt.Errorf("creating %s in namespace %q: %w", target.Of(object), object.GetNamespace(), err)
	}
	return done, nil
}

// waitable reports whether the object is one that becomes ready.
func waitable(object client.Object) bool {
	kind := target.Of(object).Kind
	return kind == target.Sandbox || kind == target.Claim
}
