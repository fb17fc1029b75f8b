package modules

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// prefix begins the paths of all modules of this repository; the rest is the module's directory.
const prefix = "sigs.k8s.io/agent-sandbox/"

// published are the directories of the modules that others import.
func published() []string { return []string{"shared", "core", "extensions", "clients/go"} }

// Path is the path of the module in a directory.
func Path(directory string) string { return prefix + directory }

// Tag is the name of the tag by which Go finds a version of the module in a directory.
func Tag(directory, version string) string { return directory + "/" + version }

// validate refuses what is no version that the modules can have under the paths that they have.
func validate(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("version %q: want the form v1.2.3 or v1.2.3-rc.1, with all three numbers", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("version %q: from v2 on Go wants the major version in the paths of modules: add /%s to them first", version, major)
	}
	return nil
}

// requiring returns a go.mod that requires a version of each module of this repository that it required before. It fails for a module
// that is published and requires one that is not: nobody else could build it.
func requiring(name string, content []byte, version string) ([]byte, error) {
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		return nil, fmt.Errorf("reading requirements: %w", err)
	}
	own := strings.TrimPrefix(file.Module.Mod.Path, prefix)
	for _, required := range file.Require {
		directory, ours := strings.CutPrefix(required.Mod.Path, prefix)
		if !ours {
			continue
		}
		if slices.Contains(published(), own) && !slices.Contains(published(), directory) {
			return nil, fmt.Errorf("%s requires %s, which is not published", name, required.Mod.Path)
		}
		if err := file.AddRequire(required.Mod.Path, version); err != nil {
			return nil, fmt.Errorf("requiring %s of %s: %w", version, required.Mod.Path, err)
		}
	}
	return file.Format()
}
