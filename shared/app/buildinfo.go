package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/agent-sandbox/shared/version"
)

// RegisterBuildInfo exposes which release this is, as the labels of a gauge of that name that is always 1.
func RegisterBuildInfo(registry prometheus.Registerer, name string, info version.Info) error {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name,
		Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{
			"git_version": info.GitVersion, "git_commit": info.GitCommit, "build_date": info.BuildDate,
			"go_version": info.GoVersion, "compiler": info.Compiler, "platform": info.Platform,
		},
	})
	gauge.Set(1)
	if err := registry.Register(gauge); err != nil {
		return fmt.Errorf("registering %s: %w", name, err)
	}
	return nil
}
