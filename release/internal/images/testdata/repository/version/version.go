// Package version stands for shared/version: the linker stamps the same variables.
package version

import "fmt"

var (
	gitVersion string
	gitCommit  string
	buildDate  string
)

// String is the line that --version prints.
func String() string {
	return fmt.Sprintf("%s (commit %s, built %s)", gitVersion, gitCommit, buildDate)
}
