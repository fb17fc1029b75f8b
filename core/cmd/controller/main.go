// Command controller is the core of Agent Sandbox: the controller of Sandboxes.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/agent-sandbox/core/cmd/controller/program"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=agent-sandbox-system,resources=leases,verbs=get;create;update

func main() {
	controller, err := program.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(app.ExitFailed)
	}
	os.Exit(app.Run(ctrl.SetupSignalHandler(), controller, os.Args[1:], os.Stdout, os.Stderr))
}
