// Command controller runs the extensions of Agent Sandbox: the controllers of warm pools and claims.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=agent-sandbox-system,resources=leases,verbs=get;create;update

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(app.ExitFailed)
		}
	}
	flags := newFlags()
	os.Exit(app.Run(ctrl.SetupSignalHandler(), app.Program{
		Name:          "agent-sandbox-extensions-controller",
		Summary:       "agent-sandbox-extensions-controller keeps warm pools of Sandboxes and gives every claim a Sandbox of its own.",
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
