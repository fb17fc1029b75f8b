package devcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/process"
)

// settings are what a cluster remembers from one start to the next.
type settings struct {
	Nodes int                 `json:"nodes"`
	Real  bool                `json:"realNode,omitempty"`
	Ports map[string]int      `json:"ports"`
	Args  map[string][]string `json:"args,omitempty"`
}

// nodes says which nodes the cluster has.
func (s settings) nodes() string {
	text := fmt.Sprintf("%d simulated nodes", s.Nodes)
	switch {
	case s.Real && s.Nodes == 0:
		return "a real node"
	case s.Real:
		return "a real node and " + text
	default:
		return text
	}
}

// loadSettings returns those of a new cluster where none are stored.
func loadSettings(l layout) (settings, error) {
	s := settings{Nodes: DefaultNodes, Ports: map[string]int{}}
	err := readJSON(l.path(settingsFile), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return s, err
}

// loadRecord returns the process that last ran a component; false if there is
// none on record.
func loadRecord(l layout, component string) (process.Identity, bool, error) {
	var id process.Identity
	err := readJSON(l.record(component), &id)
	if errors.Is(err, fs.ErrNotExist) {
		return id, false, nil
	}
	return id, err == nil, err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading cluster state: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading cluster state %s: %w", path, err)
	}
	return nil
}

// writeJSON puts the file in place as a whole.
func writeJSON(path string, from any) error {
	data, err := json.MarshalIndent(from, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding cluster state %s: %w", path, err)
	}
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing cluster state: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing cluster state: %w", err)
	}
	return nil
}
