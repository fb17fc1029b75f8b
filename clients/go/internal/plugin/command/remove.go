package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// removal is what the flags of rm say.
type removal struct {
	all, yes bool
	selector string
	waiting  waiting
}

func (t *tool) remove() *cobra.Command {
	var wanted removal
	cmd := &cobra.Command{
		Use:     "rm (NAME... | --all | -l SELECTOR)",
		Aliases: []string{"delete"},
		Short:   "Delete Sandboxes and claims, with their disks",
		GroupID: groupLife,
		Long: `Delete Sandboxes, claims, pools or templates by name, and wait until they are gone. The disks of a Sandbox go with it.

--all and -l delete Sandboxes and claims of the namespace, but for Sandboxes that belong to a claim or a pool: they go with these.
--all asks first, on a terminal.`,
		Example: `  kubectl sandbox rm my-sandbox claim/my-session
  kubectl sandbox rm -l team=a
  kubectl sandbox rm --all --yes`,
		ValidArgsFunction: t.complete(target.Any),
	}
	out := newOutput("deleted")
	out.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&wanted.all, "all", false, "All Sandboxes and claims of the namespace.")
	flags.StringVarP(&wanted.selector, "selector", "l", "", "Those whose labels it selects.")
	flags.BoolVarP(&wanted.yes, "yes", "y", false, "Do not ask.")
	wanted.waiting.add(cmd, "each is gone")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := wanted.validate(args); err != nil {
			return UsageError{err}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		objects, err := wanted.find(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		if wanted.all && !wanted.yes && len(objects) > 0 {
			if err := t.confirm(objects, c.Namespace); err != nil {
				return err
			}
		}
		return t.removeAll(cmd.Context(), c, wanted.waiting, out, objects)
	}
	return cmd
}

func (r removal) validate(args []string) error {
	ways := 0
	for _, given := range []bool{r.all, r.selector != "", len(args) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("say what to delete: by names, by --all or by -l, and by one of these alone")
	}
	return r.waiting.validate()
}

func (r removal) find(ctx context.Context, c *cluster.Cluster, args []string) ([]client.Object, error) {
	var objects []client.Object
	for _, arg := range args {
		ref, err := parse(arg)
		if err != nil {
			return nil, err
		}
		object, err := owned(ctx, c, ref, "rm")
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	if len(args) > 0 {
		return objects, nil
	}
	selector, err := labels.Parse(r.selector)
	if err != nil {
		return nil, UsageError{fmt.Errorf("--selector=%q: %w", r.selector, err)}
	}
	for _, kind := range []target.Kind{target.Claim, target.Sandbox} {
		found, err := ownerless(ctx, c, kind, selector)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// ownerless lists the objects of a kind that belong to nobody. A kind that the cluster does not know has none.
func ownerless(ctx context.Context, c *cluster.Cluster, kind target.Kind, selector labels.Selector) ([]client.Object, error) {
	list := kind.NewList()
	err := c.Client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing each %s of namespace %q: %w", kind, c.Namespace, err)
	}
	return ofNobody(list)
}

func ofNobody(list client.ObjectList) ([]client.Object, error) {
	var objects []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok && metav1.GetControllerOf(object) == nil {
			objects = append(objects, object)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	return objects, nil
}

// confirm asks whoever sits at a terminal.
func (t *tool) confirm(objects []client.Object, namespace string) error {
	if !printers.IsTerminal(t.Streams.In) {
		return nil
	}
	told := make([]string, len(objects))
	for i, object := range objects {
		told[i] = target.Of(object).String()
	}
	fmt.Fprintf(t.Streams.ErrOut, "This deletes all of namespace %s, with their disks: %s\nGo on? [y/N] ", namespace, strings.Join(told, ", "))
	answer, err := bufio.NewReader(t.Streams.In).ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errors.New("nothing was deleted")
	}
	return nil
}

func (t *tool) removeAll(ctx context.Context, c *cluster.Cluster, w waiting, out *output, objects []client.Object) error {
	for _, object := range objects {
		// Another object may have the name by now, and is not meant.
		err := c.Client.Delete(ctx, object, client.Preconditions{UID: ptr.To(object.GetUID())})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", target.Of(object), err)
		}
	}
	for _, object := range objects {
		if w.wait {
			if _, err := t.until(ctx, c, w, object, "be gone", await.Gone); err != nil {
				return err
			}
		}
		if err := t.print(out, object, "%s"); err != nil {
			return err
		}
	}
	return nil
}
