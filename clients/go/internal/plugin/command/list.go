package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// listing is what the flags say of where to look, and for what.
type listing struct {
	everywhere bool
	selector   string
}

func (l *listing) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&l.everywhere, "all-namespaces", "A", false, "Look in all namespaces.")
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "Those whose labels it selects.")
}

func (l *listing) in(c *cluster.Cluster) namespaces {
	if l.everywhere {
		return allNamespaces
	}
	return namespaces(c.Namespace)
}

// list reads the objects of a kind.
func (l *listing) list(ctx context.Context, c *cluster.Cluster, kind target.Kind) (client.ObjectList, error) {
	selector, err := labels.Parse(l.selector)
	if err != nil {
		return nil, UsageError{fmt.Errorf("--selector=%q: %w", l.selector, err)}
	}
	list := kind.NewList()
	if err := c.Client.List(ctx, list, client.InNamespace(l.in(c)), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, listError(kind, err)
	}
	return list, nil
}

// listError says what it means that the cluster does not know a kind.
func listError(kind target.Kind, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster knows no kind for %s/NAME: is Agent Sandbox installed, with its extensions? `kubectl sandbox doctor` looks: %w", kind, err)
	}
	return fmt.Errorf("listing each %s: %w", kind, err)
}

func (t *tool) list() *cobra.Command {
	var where listing
	kinds := []string{"sandboxes", "claims", "pools", "templates"}
	cmd := &cobra.Command{
		Use:     "ls [" + strings.Join(kinds, "|") + "]",
		Aliases: []string{"list"},
		Short:   "List Sandboxes, or claims, pools or templates",
		GroupID: groupSee,
		Example: `  kubectl sandbox ls
  kubectl sandbox ls claims -A -o wide
  kubectl sandbox ls -l team=a -o name`,
		Args:              names(0, 1),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
	}
	out := newTables()
	out.add(cmd)
	where.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind := target.Sandbox
		if len(args) > 0 {
			var known bool
			if kind, known = target.KindOf(args[0]); !known {
				return UsageError{fmt.Errorf("%q: there are no such objects: choose %s; `kubectl sandbox get` takes names", args[0], strings.Join(kinds, ", "))}
			}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		list, err := where.list(cmd.Context(), c, kind)
		if err != nil {
			return err
		}
		return t.showList(cmd.Context(), c, out, list, where.in(c))
	}
	return cmd
}

// showList writes a list of any of our kinds.
func (t *tool) showList(ctx context.Context, c *cluster.Cluster, out *output, list client.ObjectList, in namespaces) error {
	table, err := t.table(ctx, c, list, in)
	if err != nil {
		return err
	}
	return t.show(out, list, table, in)
}

func (t *tool) table(ctx context.Context, c *cluster.Cluster, list client.ObjectList, in namespaces) (*metav1.Table, error) {
	now := t.Clock.Now()
	switch of := list.(type) {
	case *sandboxv1beta1.SandboxList:
		return screen.Sandboxes(of.Items, now), nil
	case *extensionsv1beta1.SandboxClaimList:
		return screen.Claims(of.Items, now), nil
	case *extensionsv1beta1.SandboxTemplateList:
		return screen.Templates(of.Items, now), nil
	case *extensionsv1beta1.SandboxWarmPoolList:
		claims, sandboxes := &extensionsv1beta1.SandboxClaimList{}, &sandboxv1beta1.SandboxList{}
		for _, also := range []client.ObjectList{claims, sandboxes} {
			if err := c.Client.List(ctx, also, client.InNamespace(in)); err != nil {
				return nil, fmt.Errorf("listing what pools are used by: %w", err)
			}
		}
		return screen.Pools(of.Items, claims.Items, sandboxes.Items, now), nil
	}
	return nil, fmt.Errorf("there is no table of %T", list)
}

func (t *tool) pools() *cobra.Command {
	var where listing
	cmd := &cobra.Command{
		Use:     "pools",
		Short:   "Show how full warm pools are, and how many claims wait for them",
		GroupID: groupSee,
		Long: `Show warm pools. SIZE is how many Sandboxes are to wait, READY how many of its members are ready, FREE how many of these a claim can
have now, USED how many claims of the pool have a Sandbox, WAITING how many have none.`,
		Example: `  kubectl sandbox pools
  kubectl sandbox pools -A -o wide`,
		Args: names(0, 0),
	}
	out := newTables()
	out.add(cmd)
	where.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := t.connect()
		if err != nil {
			return err
		}
		list, err := where.list(cmd.Context(), c, target.Pool)
		if err != nil {
			return err
		}
		return t.showList(cmd.Context(), c, out, list, where.in(c))
	}
	return cmd
}

func (t *tool) get() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get NAME...",
		Short:   "Show Sandboxes, claims, pools or templates by name",
		GroupID: groupSee,
		Example: `  kubectl sandbox get my-sandbox -o wide
  kubectl sandbox get claim/my-session pool/my-agents
  kubectl sandbox get my-sandbox -o jsonpath='{.status.podIPs[0]}'`,
		Args:              names(1, -1),
		ValidArgsFunction: t.complete(target.Any),
	}
	out := newTables()
	out.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := t.connect()
		if err != nil {
			return err
		}
		for _, arg := range args {
			if err := t.getOne(cmd.Context(), c, out, arg); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// getOne shows an object: for people as a table of one line, else as itself.
func (t *tool) getOne(ctx context.Context, c *cluster.Cluster, out *output, arg string) error {
	ref, err := parse(arg)
	if err != nil {
		return err
	}
	object, err := c.Finder().Find(ctx, ref)
	if err != nil {
		return err
	}
	if !out.forPeople() {
		return t.print(out, object, "%s")
	}
	list := target.Of(object).Kind.NewList()
	if err := meta.SetList(list, []runtime.Object{object}); err != nil {
		return fmt.Errorf("making a list: %w", err)
	}
	return t.showList(ctx, c, out, list, namespaces(c.Namespace))
}
