package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// Bridge is the device on which the Pods of the node are, and the node's own address.
	Bridge = "cni0"
	// Address is the node's.
	Address = "10.244.0.1"
	// PodCIDR is the range of the addresses of its Pods.
	PodCIDR = "10.244.0.0/24"
	// StateDir is where programs in the namespaces find the node's state: a short path, since sockets lie in it.
	StateDir = "/run/node"

	prefixLength = 24
)

// Namespaces are what the process that holds a node is to be started with, as syscall.SysProcAttr.Unshareflags.
const Namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS

// HoldOptions describe the place of a node.
type HoldOptions struct {
	// State is the directory that is StateDir within.
	State string
	// Group is the name of the Cgroup to run in.
	Group string
	// Health is the address, within, that answers once all is in place.
	Health string
}

// Hold makes a node's place out of new Namespaces, in which this process must be alone, and holds it until ctx is done. Within, /run is
// empty, the node has an address on a bridge, and nothing leads out. The machine's settings that a kubelet sets read as it wants
// them, so that it sets none.
func Hold(ctx context.Context, o HoldOptions) error {
	if err := mustBeInside(); err != nil {
		return err
	}
	if err := joinGroup(o.Group); err != nil {
		return err
	}
	for _, step := range []func(HoldOptions) error{mountAll, connect} {
		if err := step(o); err != nil {
			return err
		}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Health)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	const patience = 5 * time.Second
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health: %w", err)
	}
	return nil
}

// mustBeInside keeps what Hold does away from the machine's own namespaces.
func mustBeInside() error {
	for _, kind := range []string{"net", "mnt"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return fmt.Errorf("reading a namespace: %w", err)
		}
		parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", os.Getppid(), kind))
		if err != nil {
			return fmt.Errorf("reading a namespace: %w", err)
		}
		if own == parent {
			return fmt.Errorf("this process has no %s namespace of its own: devcluster up starts it as it must be", kind)
		}
	}
	return nil
}

// settings are those of the whole machine that a kubelet sets, with the values it wants.
func settings() map[string]string {
	return map[string]string{
		"vm/overcommit_memory":      "1",
		"vm/panic_on_oom":           "0",
		"kernel/panic":              "10",
		"kernel/panic_on_oops":      "1",
		"kernel/keys/root_maxkeys":  "1000000",
		"kernel/keys/root_maxbytes": "25000000",
	}
}

func mountAll(o HoldOptions) error {
	// Private first: nothing may get out. Then shared among those within, for the volumes of Pods.
	for _, how := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|how, ""); err != nil {
			return fmt.Errorf("changing how mounts spread: %w", err)
		}
	}
	// The state first: it may lie below /run.
	state, err := os.Open(o.State)
	if err != nil {
		return fmt.Errorf("opening the node's state: %w", err)
	}
	defer func() { _ = state.Close() }()
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mounting an empty /run: %w", err)
	}
	if err := os.Mkdir(StateDir, 0o755); err != nil {
		return fmt.Errorf("creating a mount point: %w", err)
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", state.Fd()), StateDir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting the node's state: %w", err)
	}
	// The machine's resolver cannot be reached, and a runtime would wait for it.
	if resolver, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		if err := unix.Mount(filepath.Join(StateDir, "resolv.conf"), resolver, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", resolver, err)
		}
	}
	if err := shadow("/var/lib", "cni"); err != nil {
		return err
	}
	if err := shadow("/var/log", "containers"); err != nil {
		return err
	}
	return pretendSettings()
}

// pretendSettings mounts a file over each of the settings.
func pretendSettings() error {
	const dir = "/run/settings"
	for name, value := range settings() {
		file, setting := filepath.Join(dir, name), filepath.Join("/proc/sys", name)
		if _, err := os.Stat(setting); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("creating a directory for settings: %w", err)
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing a setting: %w", err)
		}
		if err := unix.Mount(file, setting, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting setting %s: %w", name, err)
		}
	}
	return nil
}

// connect gives the node its addresses.
func connect(HoldOptions) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback device: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: Bridge}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("adding bridge %s: %w", Bridge, err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(Address).To4(), Mask: net.CIDRMask(prefixLength, 32)}}
	if err := netlink.AddrAdd(bridge, address); err != nil {
		return fmt.Errorf("giving bridge %s its address: %w", Bridge, err)
	}
	for _, link := range []netlink.Link{lo, bridge} {
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting %s up: %w", link.Attrs().Name, err)
		}
	}
	// Programs take the source of their packets from it; it leads nowhere.
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: bridge.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: address.IP}); err != nil {
		return fmt.Errorf("adding a default route: %w", err)
	}
	for _, name := range []string{"ipv4/ip_forward", "ipv4/conf/all/route_localnet", "bridge/bridge-nf-call-iptables"} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte("1"), 0o644); err != nil {
			return fmt.Errorf("changing a setting of the network: %w", err)
		}
	}
	return nil
}
