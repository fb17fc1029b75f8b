package devcluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

const testNodes = 3

// testWriter shows progress as the test's log.
type testWriter struct {
	t *testing.T
}

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// testOptions describe a cluster in a state directory of the test's own. At the
// end of the test nothing of it may run or be left.
func testOptions(t *testing.T, stateDir, name string) Options {
	t.Helper()
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Root: root, Name: name, StateDir: stateDir, Nodes: testNodes, Out: testWriter{t}}
	t.Cleanup(func() {
		o.Out = io.Discard
		if c, err := Open(o); err == nil {
			if err := c.Down(context.Background()); err != nil {
				t.Errorf("taking cluster %s down: %v", name, err)
			}
		}
	})
	return o
}

func up(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clientOf(t *testing.T, c *Cluster) kubernetes.Interface {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func statusOf(t *testing.T, c *Cluster) Status {
	t.Helper()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// pids returns the process of each component that runs.
func pids(t *testing.T, c *Cluster) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, part := range statusOf(t, c).Components {
		found[part.Name] = part.PID
	}
	return found
}

func eventually(t *testing.T, reason string, is func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain until %s", reason)
		case <-tick.C:
		}
	}
}

// processesUnder lists the command lines that mention a directory.
func processesUnder(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// expectNothingLeft checks that no process and no file of a state directory
// remains.
func expectNothingLeft(t *testing.T, stateDir string) {
	t.Helper()
	if found := processesUnder(t, stateDir); len(found) > 0 {
		t.Errorf("processes left:\n%s", strings.Join(found, "\n"))
	}
	entries, err := os.ReadDir(stateDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("file left: %s", entry.Name())
	}
}

// onText does something when a text is written to it.
type onText struct {
	text string
	do   func()
}

func (w onText) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.do()
	}
	return len(p), nil
}
