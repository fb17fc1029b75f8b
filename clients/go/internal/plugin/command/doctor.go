package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/observe"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// The forms of doctor.
const (
	formatText = "text"
	formatJSON = "json"
)

func (t *tool) doctor() *cobra.Command {
	var (
		where  listing
		format string
	)
	cmd := &cobra.Command{
		Use:     "doctor [NAME...]",
		Short:   "Explain why something is stuck, and what to do",
		GroupID: groupSee,
		Long: `Explain what is the matter with Sandboxes, claims, pools or templates: what, why, and which commands to try next, from their conditions,
their Pods, disks and Events. Without a name: what is stuck or on its way in the namespace, and whether the controllers work.

It only reads, and says what it may not read. The exit code is 1 when something is stuck.`,
		Example: `  kubectl sandbox doctor my-sandbox
  kubectl sandbox doctor claim/my-session pool/my-agents
  kubectl sandbox doctor -A -o json`,
		ValidArgsFunction: t.complete(target.Any),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&where.everywhere, "all-namespaces", "A", false, "Look in all namespaces.")
	flags.StringVarP(&format, "output", "o", formatText, "Form of the output: text|json.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatText, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case format != formatText && format != formatJSON:
			return UsageError{fmt.Errorf("--output=%q: choose text or json", format)}
		case len(args) > 0 && where.everywhere:
			return UsageError{errors.New("give names, or -A, and not both")}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		visit := visit{cluster: c, clock: t.Clock, report: screen.Report{Namespace: string(where.in(c))}}
		if len(args) > 0 {
			err = visit.named(cmd.Context(), args)
		} else {
			err = visit.all(cmd.Context(), where)
		}
		if err != nil {
			return err
		}
		return t.report(visit.report, format)
	}
	return cmd
}

func (t *tool) report(report screen.Report, format string) error {
	err := error(nil)
	if format == formatJSON {
		err = screen.WriteReportJSON(t.Streams.Out, report)
	} else {
		err = screen.WriteReport(t.Streams.Out, report, t.Clock.Now())
	}
	if err == nil && explain.Count(report.Findings, explain.Stuck) > 0 {
		err = errStuck
	}
	return err
}

// visit is one round of the doctor.
type visit struct {
	cluster *cluster.Cluster
	clock   clock.PassiveClock
	report  screen.Report
}

func (v *visit) named(ctx context.Context, args []string) error {
	for _, arg := range args {
		ref, err := parse(arg)
		if err != nil {
			return err
		}
		object, err := v.cluster.Finder().Find(ctx, ref)
		if err != nil {
			return err
		}
		v.look(ctx, object)
	}
	// Nothing goes on where no controller works.
	if worst := explain.Worst(v.report.Findings); worst.Severity != explain.OK && worst.Severity != explain.Note {
		v.controllers(ctx)
	}
	return nil
}

func (v *visit) look(ctx context.Context, object client.Object) {
	v.report.Looked++
	v.report.Findings = append(v.report.Findings, observe.Explain(ctx, v.cluster.Client, object, v.clock.Now())...)
}

// all looks at everything, and keeps what is not well.
func (v *visit) all(ctx context.Context, where listing) error {
	v.controllers(ctx)
	for _, kind := range []target.Kind{target.Template, target.Pool, target.Claim, target.Sandbox} {
		list, err := where.list(ctx, v.cluster, kind)
		if meta.IsNoMatchError(err) {
			// The controllers' findings tell that already.
			continue
		}
		if err != nil {
			v.report.Findings = append(v.report.Findings, explain.Hidden(string(kind), err))
			continue
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok && !ofSomebody(object) {
				v.look(ctx, object)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
	}
	v.report.Findings = slices.DeleteFunc(v.report.Findings, func(f explain.Finding) bool {
		return f.Severity == explain.OK || f.Severity == explain.Note
	})
	slices.SortStableFunc(v.report.Findings, func(a, b explain.Finding) int { return cmp.Compare(order(a), order(b)) })
	return nil
}

// ofSomebody reports whether the object is a Sandbox of a claim or a pool, which is explained with these.
func ofSomebody(object client.Object) bool {
	_, isSandbox := object.(*sandboxv1beta1.Sandbox)
	return isSandbox && len(object.GetOwnerReferences()) > 0
}

// order puts what is stuck first.
func order(f explain.Finding) int {
	if f.Severity == explain.Stuck {
		return 0
	}
	return 1
}

// controllers keeps what is not well with the controllers.
func (v *visit) controllers(ctx context.Context) {
	for _, f := range explain.Controllers(v.clock.Now(), observe.Controllers(ctx, v.cluster.Client)) {
		if f.Severity != explain.OK {
			v.report.Findings = append(v.report.Findings, f)
		}
	}
}
