package images

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Platform is an operating system and a processor that images are made for.
type Platform struct {
	architecture string
	machine      elf.Machine
	// baseline is the environment setting that says which instructions the compiler may use.
	baseline string
}

// Platforms is the table of all platforms, in the order in which an index lists them.
func Platforms() []Platform {
	return []Platform{
		{architecture: "amd64", machine: elf.EM_X86_64, baseline: "GOAMD64=v1"},
		{architecture: "arm64", machine: elf.EM_AARCH64, baseline: "GOARM64=v8.0"},
	}
}

// ParsePlatforms reads names such as linux/amd64, separated by commas. The result is in the order of the table, so
// that the order of the names does not change an image.
func ParsePlatforms(list string) ([]Platform, error) {
	unknown := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		unknown[name] = true
	}
	var parsed []Platform
	for _, platform := range Platforms() {
		if unknown[platform.String()] {
			parsed = append(parsed, platform)
			delete(unknown, platform.String())
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("platforms %q are not built: choose from %s", slices.Sorted(maps.Keys(unknown)), List(Platforms()))
	}
	return parsed, nil
}

// List joins the names of platforms as ParsePlatforms reads them.
func List(platforms []Platform) string {
	var names []string
	for _, platform := range platforms {
		names = append(names, platform.String())
	}
	return strings.Join(names, ",")
}

// String is the name of the platform, such as linux/amd64.
func (p Platform) String() string {
	return "linux/" + p.architecture
}

func (p Platform) oci() v1.Platform {
	return v1.Platform{OS: "linux", Architecture: p.architecture}
}

// environment is what makes the go command build for the platform, whatever the caller's own settings are. Nothing
// of the caller's directory or version control gets into the binary.
func (p Platform) environment() []string {
	return []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + p.architecture, p.baseline, "GOFLAGS=-trimpath -buildvcs=false"}
}

// check returns an error unless the program runs on the platform with no other file beside it.
func (p Platform) check(program []byte) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("reading the program: %w", err)
	}
	if file.Machine != p.machine {
		return fmt.Errorf("the program is for %s, not for %s", file.Machine, p.machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return errors.New("the program is linked dynamically, and an image from scratch holds no linker")
		}
	}
	return nil
}
