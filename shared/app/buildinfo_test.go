package app

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sigs.k8s.io/agent-sandbox/shared/version"
)

func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewRegistry()
	info := version.Info{GitVersion: "v1.2.3", GitCommit: "abc", BuildDate: "2026-06-01", GoVersion: "go1", Compiler: "gc", Platform: "linux/arm64"}
	if err := RegisterBuildInfo(registry, "agent_sandbox_build_info", info); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP agent_sandbox_build_info Always 1; the labels say which build this is.
# TYPE agent_sandbox_build_info gauge
agent_sandbox_build_info{build_date="2026-06-01",compiler="gc",git_commit="abc",git_version="v1.2.3",go_version="go1",platform="linux/arm64"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if err := RegisterBuildInfo(registry, "agent_sandbox_build_info", info); err == nil {
		t.Error("a second one is registered")
	}
}
