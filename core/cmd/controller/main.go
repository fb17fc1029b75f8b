// Command controller is the core of Agent Sandbox: the controller of Sandboxes.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=agent-sandbox-system,resources=leases,verbs=get;create;update

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(app.ExitFailed)
		}
	}
	flags := newFlags()
	os.Exit(app.Run(ctrl.SetupSignalHandler(), app.Program{
		Name:          "agent-sandbox-controller",
		Summary:       "agent-sandbox-controller runs Sandboxes: isolated, stateful Pods with a stable name, that can be suspended and resumed.",
		Scheme:        scheme,
		Options:       app.NewOptions(),
		Cache:         cacheOptions,
		AddFlags:      flags.add,
		AddInertFlags: addInertFlags,
		Validate:      flags.validate,
		Warnings:      flags.warnings,
		Setup:         flags.setup,
	}, os.Args[1:], os.Stdout, os.Stderr))
}
