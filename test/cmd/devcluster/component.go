package main

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

func newLogs(f *flags) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:       "logs COMPONENT",
		Short:     "Print the log of a component",
		Long:      "Print the log of a component: " + strings.Join(devcluster.ComponentNames(), ", ") + ".",
		Args:      oneComponent,
		ValidArgs: devcluster.ComponentNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := f.open()
			if err != nil {
				return err
			}
			if follow {
				return cluster.FollowLogs(cmd.Context(), args[0], cmd.OutOrStdout())
			}
			return cluster.Logs(args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added, until interrupted")
	return cmd
}

func newKill(f *flags) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:       "kill COMPONENT",
		Short:     "Send a signal to a component; up starts it again",
		Args:      oneComponent,
		ValidArgs: devcluster.ComponentNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal, err := parseSignal(name)
			if err != nil {
				return err
			}
			cluster, err := f.open()
			if err != nil {
				return err
			}
			return cluster.Kill(cmd.Context(), args[0], signal)
		},
	}
	cmd.Flags().StringVarP(&name, "signal", "s", "KILL", "name of the signal, as TERM, STOP or CONT")
	return cmd
}

func parseSignal(name string) (syscall.Signal, error) {
	signal := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	if signal == 0 {
		return 0, fmt.Errorf("--signal %q: no such signal", name)
	}
	return signal, nil
}

// oneComponent wants one argument, and names the choice where there is none.
func oneComponent(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one component: %s", strings.Join(devcluster.ComponentNames(), ", "))
	}
	return nil
}
