package node

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmetError says why there can be no real node on this machine.
type UnmetError struct {
	// Reasons are parts of a sentence.
	Reasons []string
}

// Error implements error.
func (e *UnmetError) Error() string {
	return "a real node cannot run here: " + strings.Join(e.Reasons, "; ")
}

// requirement is a program, or a library to compile with, that comes with the system, not from a Go module.
type requirement struct {
	// probe is a command that succeeds where it is installed.
	probe []string
	// pkg is what Debian calls the package.
	pkg string
}

func requirements() []requirement {
	return []requirement{
		{[]string{"nft", "--version"}, "nftables"},
		{[]string{"iptables", "--version"}, "iptables"},
		{[]string{"ipset", "--version"}, "ipset"},
		{[]string{"gcc", "--version"}, "gcc"},
		{[]string{"pkg-config", "--version"}, "pkg-config"},
		{[]string{"pkg-config", "--exists", "libseccomp"}, "libseccomp-dev"},
	}
}

// Check returns an *UnmetError if this machine can have no real node.
func Check() error {
	var reasons []string
	if !has(unix.CAP_SYS_ADMIN) || !has(unix.CAP_NET_ADMIN) {
		reasons = append(reasons, "it needs root, with the capabilities SYS_ADMIN and NET_ADMIN")
	}
	var missing []string
	for _, r := range requirements() {
		if exec.Command(r.probe[0], r.probe[1:]...).Run() != nil {
			missing = append(missing, r.pkg)
		}
	}
	if len(missing) > 0 {
		packages := strings.Join(missing, " ")
		reasons = append(reasons, fmt.Sprintf("it needs %s: on Debian, apt-get install %s", strings.ReplaceAll(packages, " ", ", "), packages))
	}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		reasons = append(reasons, "the kernel does not show bridges to its firewall: modprobe br_netfilter")
	}
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(known), "\toverlay\n") {
		reasons = append(reasons, "the kernel has no overlay file system: modprobe overlay")
	}
	if len(reasons) > 0 {
		return &UnmetError{Reasons: reasons}
	}
	return nil
}

// MayRaisePriority says whether a process of ours may be given a better chance when memory is short, as container runtimes do.
func MayRaisePriority() bool { return has(unix.CAP_SYS_RESOURCE) }

// has says whether this process has a capability, see capabilities(7).
func has(capability int) bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if mask, found := strings.CutPrefix(line, "CapEff:"); found {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && bits&(1<<capability) != 0
		}
	}
	return false
}
