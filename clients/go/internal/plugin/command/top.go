package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// errNoMetrics : nobody measures in the cluster.
var errNoMetrics = errors.New("the cluster has no API metrics.k8s.io, so nobody measures what Pods use: install metrics-server, or ask who runs the cluster")

func (t *tool) top() *cobra.Command {
	var where listing
	cmd := &cobra.Command{
		Use:     "top [NAME...]",
		Short:   "Show how much CPU and memory Sandboxes use",
		GroupID: groupSee,
		Long:    `Show how much CPU and memory the Pods of Sandboxes use, by the API metrics.k8s.io. A Pod of which nothing is measured yet has a dash.`,
		Example: `  kubectl sandbox top
  kubectl sandbox top claim/my-session -o wide`,
		ValidArgsFunction: t.complete(target.Any),
	}
	out := newTables()
	out.add(cmd)
	where.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && (where.everywhere || where.selector != "") {
			return UsageError{errors.New("give names, or -A and -l, and not both")}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		list := &metricsv1beta1.PodMetricsList{}
		used, err := where.used(cmd.Context(), c, args, list)
		if err != nil {
			return err
		}
		return t.show(out, list, screen.Usage(used), where.in(c))
	}
	return cmd
}

// used reads what Sandboxes use. Into list go the metrics as they were read, of their Pods alone.
func (l *listing) used(ctx context.Context, c *cluster.Cluster, args []string, list *metricsv1beta1.PodMetricsList) ([]screen.Used, error) {
	measured := &metricsv1beta1.PodMetricsList{}
	switch err := c.Client.List(ctx, measured, client.InNamespace(l.in(c))); {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsServiceUnavailable(err):
		return nil, fmt.Errorf("%w: %w", errNoMetrics, err)
	case err != nil:
		return nil, fmt.Errorf("reading what Pods use: %w", err)
	}
	sandboxes, err := l.named(ctx, c, args)
	if err != nil {
		return nil, err
	}
	pods, err := podsByOwner(ctx, c, l.in(c))
	if err != nil {
		return nil, err
	}
	var used []screen.Used
	for i := range sandboxes {
		for _, pod := range pods[sandboxes[i].UID] {
			of := screen.Used{Sandbox: &sandboxes[i], Pod: pod, Metrics: metricsOf(pod, measured.Items)}
			if of.Metrics != nil {
				list.Items = append(list.Items, *of.Metrics)
			}
			used = append(used, of)
		}
	}
	return used, nil
}

// named are the Sandboxes of the names, or all without names.
func (l *listing) named(ctx context.Context, c *cluster.Cluster, args []string) ([]sandboxv1beta1.Sandbox, error) {
	if len(args) == 0 {
		list, err := l.list(ctx, c, target.Sandbox)
		if err != nil {
			return nil, err
		}
		sandboxes, _ := list.(*sandboxv1beta1.SandboxList)
		return sandboxes.Items, nil
	}
	found, err := findSandboxes(ctx, c, args)
	if err != nil {
		return nil, err
	}
	sandboxes := make([]sandboxv1beta1.Sandbox, len(found))
	for i, sandbox := range found {
		sandboxes[i] = *sandbox
	}
	return sandboxes, nil
}

// podsByOwner are the Pods of Sandboxes, by the UID of their controller.
func podsByOwner(ctx context.Context, c *cluster.Cluster, in namespaces) (map[types.UID][]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := c.Client.List(ctx, list, client.InNamespace(in), client.HasLabels{sandboxv1beta1.LabelSandboxNameHash}); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	pods := map[types.UID][]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		if controller := metav1.GetControllerOf(pod); controller != nil {
			pods[controller.UID] = append(pods[controller.UID], pod)
		}
	}
	return pods, nil
}

func metricsOf(pod *corev1.Pod, measured []metricsv1beta1.PodMetrics) *metricsv1beta1.PodMetrics {
	for i := range measured {
		if measured[i].Namespace == pod.Namespace && measured[i].Name == pod.Name {
			return &measured[i]
		}
	}
	return nil
}
