// Package release holds the assets as a build without a version renders them, so that a program knows what is installed.
package release

import (
	"embed"
	"fmt"
)

// The golden copies, which a test holds to what is rendered.
//
//go:embed testdata/sandbox.yaml testdata/extensions.yaml
var assets embed.FS

// Asset returns the asset of that name, sandbox or extensions.
func Asset(name string) ([]byte, error) {
	content, err := assets.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no asset %q: %w", name, err)
	}
	return content, nil
}
