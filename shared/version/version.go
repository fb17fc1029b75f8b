// Package version knows which release a binary is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker (-X); a build without them falls back to what the Go toolchain recorded.
//
//nolint:gochecknoglobals // the linker sets variables, nothing else
var (
	gitVersion string
	gitCommit  string
	buildDate  string
)

// Info identifies a build.
type Info struct {
	GitVersion string `json:"gitVersion"`
	GitCommit  string `json:"gitCommit"`
	BuildDate  string `json:"buildDate"` // RFC 3339, or "unknown"
	GoVersion  string `json:"goVersion"`
	Compiler   string `json:"compiler"`
	Platform   string `json:"platform"` // GOOS/GOARCH
}

// Get returns the identity of the running binary; what is not known reads "unknown".
func Get() Info {
	info := Info{
		GitVersion: gitVersion,
		GitCommit:  gitCommit,
		BuildDate:  buildDate,
		GoVersion:  runtime.Version(),
		Compiler:   runtime.Compiler,
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return complete(info, build)
}

func complete(info Info, build *debug.BuildInfo) Info {
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.GitCommit = firstOf(info.GitCommit, setting.Value)
		case "vcs.time":
			info.BuildDate = firstOf(info.BuildDate, setting.Value)
		}
	}
	info.GitVersion = firstOf(info.GitVersion, build.Main.Version, "unknown")
	info.GitCommit = firstOf(info.GitCommit, "unknown")
	info.BuildDate = firstOf(info.BuildDate, "unknown")
	return info
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// String is the line that --version prints.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, built %s, %s %s)", i.GitVersion, i.GitCommit, i.BuildDate, i.GoVersion, i.Platform)
}
