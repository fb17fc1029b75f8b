// Package program is the plugin but for the process that runs it.
package program

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/command"
)

// Main runs the plugin with the arguments behind its name and returns the exit code: 0 done, 1 not done, 2 wrong usage, 3 timed out
// waiting, or that of a command that was run in a Sandbox. Complaints go to the error stream, one line each.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := command.New(command.Environment{Streams: streams, Clock: clock.RealClock{}, Version: version()})
	root.SetArgs(args)
	code, say := command.Exit(root.ExecuteContext(ctx))
	if say != nil {
		fmt.Fprintln(streams.ErrOut, "kubectl sandbox:", say)
	}
	return code
}

func version() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "unknown"
}
