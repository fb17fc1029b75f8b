package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/validation"

	"sigs.k8s.io/agent-sandbox/release/internal/preflight"
)

const (
	formatText = "text"
	formatJSON = "json"
)

const usage = `usage: preflight [flags]

Tells in plain words what stands in the way of installing Agent Sandbox on a cluster, before kubectl apply, and of running it
there, after it. It only reads.

Each line has a result:
  ok       stands in nobody's way
  warning  it can be installed, but not everything works that one may expect
  blocked  the installation, or what is named, does not work
  unknown  not looked at: you lack the right that is named

The commands below the table mend what is blocked or warned of. Read them before you run them.

The exit code is 0 if nothing is blocked, 1 if something is or the cluster cannot be asked, 2 for wrong usage.

  preflight                                  the cluster of your kubeconfig, for all that can be installed
  preflight --for sandbox --context staging  another cluster, without templates, warm pools and claims
  preflight -o json | jq '.findings[] | select(.result == "blocked")'

`

type options struct {
	kubeconfig string
	context    string
	user       string
	namespace  string
	scope      string
	output     string
}

// parse reads the command line. Help goes to out.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("preflight", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach the cluster; as kubectl finds it if empty")
	flags.StringVar(&o.context, "context", "", "`name` of the context in it; the current one if empty")
	flags.StringVar(&o.user, "as", "", "`user` to look as, which you must have the right to")
	flags.StringVar(&o.namespace, "namespace", preflight.DefaultNamespace, "`namespace` of the controllers")
	flags.StringVar(&o.scope, "for", string(preflight.Extensions), "`what` is to be installed: sandbox, or extensions, which come with it")
	flags.StringVar(&o.output, "o", formatText, "`form` of the findings: text or json")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return options{}, err
	}
	if err != nil {
		return options{}, usageError{err}
	}
	return o, o.validate(flags.Args())
}

func (o options) validate(args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q: there is nothing but flags", args)}
	}
	if o.output != formatText && o.output != formatJSON {
		return usageError{fmt.Errorf("-o %q: choose %s or %s", o.output, formatText, formatJSON)}
	}
	if problems := validation.IsDNS1123Label(o.namespace); len(problems) > 0 {
		return usageError{fmt.Errorf("--namespace %q: %s", o.namespace, problems[0])}
	}
	return nil
}
