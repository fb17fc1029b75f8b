//go:build node

package node_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// untouched is what the machine was before there was a node on it.
var untouched map[string]string

// machine reads what a node could change of its machine.
func machine() (map[string]string, error) {
	seen := map[string]string{}
	var failed error
	note := func(what string, output []byte, err error) {
		seen[what] = string(output)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("reading %s: %w", what, err))
		}
	}
	for what, command := range map[string][]string{
		"firewall": {"nft", "list", "ruleset"}, "sets": {"ipset", "list", "-name"},
		"devices": {"ip", "-o", "address"}, "routes": {"ip", "route"}, "namespaces": {"ip", "netns", "list"},
	} {
		output, err := exec.Command(command[0], command[1:]...).Output()
		note(what, output, err)
	}
	for _, file := range []string{
		"/proc/self/mountinfo", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops",
		"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes", "/proc/sys/net/ipv4/ip_forward",
	} {
		data, err := os.ReadFile(file)
		note(file, data, err)
	}
	for _, pattern := range []string{
		"/sys/module/*", "/run/*", "/run/netns/*", "/run/containerd/*", "/etc/*", "/etc/cni/*", "/opt/*", "/usr/libexec/*", "/var/lib/*", "/var/lib/cni/*", "/var/log/*", "/var/log/*/*",
	} {
		found, err := filepath.Glob(pattern)
		note(pattern, []byte(strings.Join(found, "\n")), err)
	}
	return seen, failed
}

func TestNothingOfTheMachineIsChanged(t *testing.T) {
	newNamespace(t)
	seen, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(untouched, seen); diff != "" {
		t.Errorf("the machine (-before +now):\n%s", diff)
	}
}

// leftBehind is an error that names what there is of a node that is down.
func leftBehind() error {
	seen, err := machine()
	if diff := cmp.Diff(untouched, seen); diff != "" {
		err = errors.Join(err, fmt.Errorf("the machine (-before +after):\n%s", diff))
	}
	state := filepath.Join(root, "bin", "clusters", clusterName)
	if _, missing := os.Stat(state); !errors.Is(missing, os.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("%s is left: %w", state, missing))
	}
	groups, globbed := filepath.Glob("/sys/fs/cgroup/*/devcluster-" + clusterName + "-*")
	if len(groups) > 0 {
		err = errors.Join(err, fmt.Errorf("cgroups are left: %v", groups))
	}
	commands, globbedToo := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		// One that has ended meanwhile is not left.
		if command, gone := os.ReadFile(file); gone == nil && strings.Contains(string(command), state) {
			err = errors.Join(err, fmt.Errorf("a process is left: %s", strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	return errors.Join(err, globbed, globbedToo)
}
