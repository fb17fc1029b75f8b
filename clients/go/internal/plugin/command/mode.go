package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// turnTo is a change of the operating mode.
type turnTo struct {
	mode sandboxv1beta1.OperatingMode
	// done says what was done, and to is what the Sandbox is waited for to do.
	done, to string
	goal     await.Goal
}

func (t *tool) suspend() *cobra.Command {
	return t.turn("is suspended", turnTo{sandboxv1beta1.OperatingModeSuspended, "suspended", "be suspended", await.Suspended}, &cobra.Command{
		Use:   "suspend NAME...",
		Short: "End the Pods of Sandboxes, and keep their disks",
		Example: `  kubectl sandbox suspend my-sandbox
  kubectl sandbox suspend claim/my-session --wait=false`,
	})
}

func (t *tool) resume() *cobra.Command {
	return t.turn("is ready", turnTo{sandboxv1beta1.OperatingModeRunning, "resumed", "be ready", await.Ready}, &cobra.Command{
		Use:     "resume NAME...",
		Short:   "Start suspended Sandboxes again, with their disks",
		Example: `  kubectl sandbox resume my-sandbox`,
	})
}

func (t *tool) turn(until string, to turnTo, cmd *cobra.Command) *cobra.Command {
	waits := &waiting{}
	out := newOutput(to.done)
	out.add(cmd)
	waits.add(cmd, "each "+until)
	cmd.GroupID, cmd.Args, cmd.ValidArgsFunction = groupLife, names(1, -1), t.complete(target.Any)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := waits.validate(); err != nil {
			return err
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		sandboxes, err := findSandboxes(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		for _, sandbox := range sandboxes {
			if err := setMode(cmd.Context(), c, sandbox, to.mode); err != nil {
				return err
			}
		}
		return t.turned(cmd.Context(), c, *waits, out, to, sandboxes)
	}
	return cmd
}

// turned waits for the Sandboxes, if that is wanted, and tells of each.
func (t *tool) turned(ctx context.Context, c *cluster.Cluster, w waiting, out *output, to turnTo, sandboxes []*sandboxv1beta1.Sandbox) error {
	for _, sandbox := range sandboxes {
		var seen client.Object = sandbox
		if w.wait {
			var err error
			if seen, err = t.until(ctx, c, w, sandbox, to.to, to.goal); err != nil {
				return err
			}
		}
		if err := t.print(out, seen, "%s"); err != nil {
			return err
		}
	}
	return nil
}

// findSandboxes reads the Sandboxes behind names, all before anything is done to one.
func findSandboxes(ctx context.Context, c *cluster.Cluster, args []string) ([]*sandboxv1beta1.Sandbox, error) {
	found := make([]*sandboxv1beta1.Sandbox, 0, len(args))
	for _, arg := range args {
		ref, err := parse(arg)
		if err != nil {
			return nil, err
		}
		sandbox, err := c.Finder().Sandbox(ctx, ref)
		if err != nil {
			return nil, err
		}
		found = append(found, sandbox)
	}
	return found, nil
}

func setMode(ctx context.Context, c *cluster.Cluster, sandbox *sandboxv1beta1.Sandbox, mode sandboxv1beta1.OperatingMode) error {
	return patch(ctx, c, sandbox, map[string]any{"spec": map[string]any{"operatingMode": mode}})
}

// patch merges a change into the object, unless another one has its name by now.
func patch(ctx context.Context, c *cluster.Cluster, object client.Object, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["uid"] = object.GetUID()
	content, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("writing a change of %s: %w", target.Of(object), err)
	}
	if err := c.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, content), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("changing %s: %w", target.Of(object), err)
	}
	return nil
}
