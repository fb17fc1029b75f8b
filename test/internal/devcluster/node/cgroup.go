package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// daemons is the part of a Cgroup that is not the kubelet's.
	daemons = "daemons"
	// killEvery and killPatience are for processes that are killed to be gone.
	killEvery    = 20 * time.Millisecond
	killPatience = 30 * time.Second
)

// hierarchy is a tree of cgroups.
type hierarchy struct {
	dir string
	// controllers are those of a tree of version 1; none for version 2.
	controllers []string
}

// Cgroup is a group of processes below which all of a node runs, containers included, by the same name in every hierarchy of the
// machine. A process that has joined it cannot get away from it, and neither can its children.
type Cgroup struct {
	name  string
	trees []hierarchy
}

// OpenCgroup returns the Cgroup of that name, whether it exists or not.
func OpenCgroup(name string) (Cgroup, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Cgroup{}, fmt.Errorf("looking for cgroups: %w", err)
	}
	trees := hierarchies(string(mounts))
	if len(trees) == 0 {
		return Cgroup{}, errors.New("looking for cgroups: none are mounted")
	}
	return Cgroup{name: name, trees: trees}, nil
}

// hierarchies reads /proc/self/mountinfo, see proc_pid_mountinfo(5).
func hierarchies(mounts string) []hierarchy {
	const mountPoint, options = 4, 2
	var found []hierarchy
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) <= mountPoint || len(right) <= options {
			continue
		}
		switch right[0] {
		case "cgroup":
			found = append(found, hierarchy{dir: left[mountPoint], controllers: strings.Split(right[options], ",")})
		case "cgroup2":
			found = append(found, hierarchy{dir: left[mountPoint]})
		}
	}
	return found
}

// Path is what the kubelet calls it.
func (c Cgroup) Path() string { return "/" + c.name }

// Create makes the group in every hierarchy, since the kubelet wants it to be there.
func (c Cgroup) Create() error {
	for _, tree := range c.trees {
		dir := filepath.Join(tree.dir, c.name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating a cgroup: %w", err)
		}
		if !slices.Contains(tree.controllers, "cpuset") {
			continue
		}
		// A new cpuset of version 1 has no processor and no memory.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(tree.dir, file))
			if err != nil {
				return fmt.Errorf("reading a cgroup: %w", err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
				return fmt.Errorf("writing a cgroup: %w", err)
			}
		}
	}
	return nil
}

// joined is the directory of the processes that have joined: that they are found in one hierarchy is enough.
func (c Cgroup) joined() string {
	tree := c.trees[max(0, slices.IndexFunc(c.trees, func(h hierarchy) bool {
		return len(h.controllers) == 0 || slices.Contains(h.controllers, "pids")
	}))]
	return filepath.Join(tree.dir, c.name, daemons)
}

// Join moves this process into the group.
func (c Cgroup) Join() error {
	if err := os.MkdirAll(c.joined(), 0o755); err != nil {
		return fmt.Errorf("creating a cgroup: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.joined(), "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return fmt.Errorf("joining a cgroup: %w", err)
	}
	return nil
}

// Remove kills every process of the group and removes it. A group that does not exist is no error.
func (c Cgroup) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killPatience, fmt.Errorf("not gone after %s", killPatience))
	defer cancel()
	ticker := time.NewTicker(killEvery)
	defer ticker.Stop()
	for {
		pids, dirs, err := c.read()
		if err == nil && len(dirs) == 0 {
			return nil
		}
		for _, pid := range pids {
			err = errors.Join(err, c.kill(pid))
		}
		for _, dir := range slices.Backward(dirs) {
			if failed := os.Remove(dir); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("ending the processes %v of cgroup %s: %w (%w)", pids, c.name, context.Cause(ctx), err)
		}
	}
}

// read returns the processes of the group, and its directories, each after the one it lies in.
func (c Cgroup) read() (pids []int, dirs []string, err error) {
	for _, tree := range c.trees {
		walked := filepath.WalkDir(filepath.Join(tree.dir, c.name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			dirs = append(dirs, path)
			found, err := processesOf(path)
			pids = append(pids, found...)
			return err
		})
		// What goes meanwhile is what is wanted.
		if walked != nil && !errors.Is(walked, fs.ErrNotExist) && !errors.Is(walked, os.ErrProcessDone) {
			err = errors.Join(err, walked)
		}
	}
	return pids, dirs, err
}

func processesOf(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("reading a cgroup: %w", err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("reading a cgroup: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// kill ends a process if it is of the group yet: the handle is taken before that is looked at, so that no other process is hit.
func (c Cgroup) kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", pid, err)
	}
	defer func() { _ = process.Release() }()
	groups, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil || !strings.Contains(string(groups), ":"+c.Path()+"/") {
		return nil //nolint:nilerr // It is gone, or another by now.
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", pid, err)
	}
	return nil
}
