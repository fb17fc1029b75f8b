// Package program is the extensions' controller but for the process that runs it: its scheme, its flags, and what it sets up.
package program

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// New returns the controller with the defaults of its flags. It fails when a kind cannot be registered.
func New() (app.Program, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return app.Program{}, err
		}
	}
	flags := newFlags()
	return app.Program{
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
	}, nil
}
