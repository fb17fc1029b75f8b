package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// complete proposes names: of Any kind those of Sandboxes and claims, and of whatever KIND/ begins the word. Without a cluster to ask it
// proposes nothing.
func (t *tool) complete(kind target.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := t.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		prefix, _, typed := strings.Cut(word, "/")
		if named, known := target.KindOf(prefix); typed && known {
			return objectNames(cmd.Context(), c, named, prefix+"/"), cobra.ShellCompDirectiveNoFileComp
		}
		if kind != target.Any {
			return objectNames(cmd.Context(), c, kind, ""), cobra.ShellCompDirectiveNoFileComp
		}
		proposed := objectNames(cmd.Context(), c, target.Sandbox, "")
		return append(proposed, objectNames(cmd.Context(), c, target.Claim, "claim/")...), cobra.ShellCompDirectiveNoFileComp
	}
}

func (t *tool) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := t.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return listNames(cmd.Context(), c, &corev1.NamespaceList{}, ""), cobra.ShellCompDirectiveNoFileComp
}

func objectNames(ctx context.Context, c *cluster.Cluster, kind target.Kind, prefix string) []cobra.Completion {
	return listNames(ctx, c, kind.NewList(), prefix, client.InNamespace(c.Namespace))
}

// listNames are the names of the objects of a list, each behind the prefix. What cannot be read has none.
func listNames(ctx context.Context, c *cluster.Cluster, list client.ObjectList, prefix string, options ...client.ListOption) []cobra.Completion {
	var proposed []cobra.Completion
	if err := c.Client.List(ctx, list, options...); err != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(metav1.Object); ok {
			proposed = append(proposed, prefix+object.GetName())
		}
		return nil
	})
	return proposed
}
