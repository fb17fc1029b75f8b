// Command router is one address for every sandbox: it carries requests to the Pod of the sandbox that they name.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/agent-sandbox/core/cmd/router/program"
)

func main() {
	os.Exit(program.Run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}
