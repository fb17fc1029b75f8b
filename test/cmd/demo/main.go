// Command demo shows the life of Sandboxes and claims on a real control plane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/test/internal/demo"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

func main() {
	// The client library's log is of no use to those who watch a demo.
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := demo.Options{Out: os.Stdout, Progress: os.Stderr}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the life of a Sandbox, and how a claim gets one from a warm pool",
		Long: `demo starts a control plane with simulated nodes, or uses the cluster of --kubeconfig, installs the rendered
asset, runs both controllers and tells the life of two Sandboxes (created, ready, suspended, resumed with the same disk, deleted)
and of two claims (one served by a warm pool, which runs a command in its sandbox, and one started cold). In the end it stops all that it started; on a cluster that it did
not start, it deletes its namespace and leaves the installed objects, with the Deployments at 0 replicas unless --controller=cluster.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return demo.Run(cmd.Context(), o) },
	}
	const stepTimeout = time.Minute
	flags := cmd.Flags()
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "use the cluster of this file instead of starting one")
	flags.StringVar(&o.Root, "root", "", "the repository's root (default: the nearest directory with a go.work, upwards)")
	flags.IntVar(&o.Nodes, "nodes", devcluster.DefaultNodes, "simulated nodes of the cluster to start")
	flags.StringVar(&o.Manifest, "manifest", "", "the rendered asset to install (default: dist/sandbox-with-extensions.yaml below the root)")
	flags.StringVar(&o.Controller, "controller", demo.ControllerLocal, "where the controllers run: local, as processes of this machine under their rendered roles; or cluster, in their Deployments")
	flags.StringVar(&o.Binaries, "binaries", "", "the directory of the programs to run locally (default: bin below the root)")
	flags.StringVar(&o.Image, "image", "", "an image that runs sandboxd, for the Pods of the warm pool; on simulated nodes sandboxd runs as a process of this machine")
	flags.StringVarP(&o.Output, "output", "o", demo.OutputText, "form of the timeline: text or json")
	flags.BoolVar(&o.Keep, "keep", false, "keep everything up after the timeline, until ctrl-C")
	flags.DurationVar(&o.Timeout, "timeout", stepTimeout, "how long each step may take")
	return cmd
}
