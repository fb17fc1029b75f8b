package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// killSession kills every process of the session that a program leads: its process group, and those that shells make of their jobs. What
// began a session of its own has left this one, and stays.
func killSession(leader int) {
	killed := map[int]bool{leader: true}
	_ = unix.Kill(-leader, unix.SIGKILL)
	// A group that was not there on one look may have been made before its maker was killed.
	for {
		fresh := 0
		for _, group := range groupsOf(leader) {
			if !killed[group] {
				killed[group] = true
				fresh++
				_ = unix.Kill(-group, unix.SIGKILL)
			}
		}
		if fresh == 0 {
			return
		}
	}
}

// groupsOf are the process groups of a session, one for each of its processes. Without /proc there are none to be found.
func groupsOf(session int) []int {
	var groups []int
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The name of the program is in parentheses and may hold anything. After it: state, parent, group, session.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 4 || string(fields[3]) != strconv.Itoa(session) {
			continue
		}
		if group, err := strconv.Atoi(string(fields[2])); err == nil && group > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}
