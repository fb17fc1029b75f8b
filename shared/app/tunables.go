package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// tunablesDir is where the optional ConfigMap agent-sandbox-config is mounted: a file for each key.
const tunablesDir = "/etc/sandbox-config"

// Setting is the value of a key of the optional ConfigMap agent-sandbox-config that is no flag's; empty without it.
func Setting(key string) (string, error) { return readSetting(tunablesDir, key) }

func readSetting(dir, key string) (string, error) {
	value, err := os.ReadFile(filepath.Join(dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading key %s of the ConfigMap agent-sandbox-config: %w", key, err)
	}
	return strings.TrimSpace(string(value)), nil
}

// readTunables sets every flag that a file below dir is named after, unless the command line has set it. Files that are named after no
// flag are somebody else's. Without the directory there is nothing to read.
func readTunables(dir string, flags *pflag.FlagSet) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the ConfigMap agent-sandbox-config: %w", err)
	}
	for _, entry := range entries {
		found := flags.Lookup(entry.Name())
		if found == nil || found.Changed {
			continue
		}
		value, err := readSetting(dir, entry.Name())
		if err != nil {
			return err
		}
		if err := flags.Set(entry.Name(), value); err != nil {
			return fmt.Errorf("ConfigMap agent-sandbox-config: %w", err)
		}
	}
	return nil
}
