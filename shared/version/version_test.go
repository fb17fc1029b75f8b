package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplete(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.1.0"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-01T00:00:00Z"}},
	}
	cases := map[string]struct {
		stamped Info
		build   *debug.BuildInfo
		want    Info
	}{
		"what the linker stamped wins": {
			stamped: Info{GitVersion: "v1.2.3", GitCommit: "def", BuildDate: "2026-02-02T00:00:00Z"},
			build:   recorded,
			want:    Info{GitVersion: "v1.2.3", GitCommit: "def", BuildDate: "2026-02-02T00:00:00Z"},
		},
		"what the toolchain recorded fills the gaps": {
			build: recorded,
			want:  Info{GitVersion: "v0.1.0", GitCommit: "abc", BuildDate: "2026-01-01T00:00:00Z"},
		},
		"what nobody knows is unknown": {
			build: &debug.BuildInfo{},
			want:  Info{GitVersion: "unknown", GitCommit: "unknown", BuildDate: "unknown"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, complete(tc.stamped, tc.build)); diff != "" {
				t.Errorf("complete (-want +got):\n%s", diff)
			}
		})
	}
}
