package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// EnterOptions say where a program is to run.
type EnterOptions struct {
	// Holder is the pid of the process that holds the namespaces.
	Holder int
	// NetworkOnly leaves the program among the machine's own mounts.
	NetworkOnly bool
	// Group is the name of the Cgroup to join; empty for none.
	Group string
	// Dir is the directory in which the program starts; empty for the present one.
	Dir string
}

// Enter becomes a program, by path or by name, in the namespaces of a node. It returns only if that fails.
func Enter(o EnterOptions, command ...string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	if o.Dir == "" {
		if o.Dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("finding the present directory: %w", err)
		}
	}
	if o.Group != "" {
		if err := joinGroup(o.Group); err != nil {
			return err
		}
	}
	// A thread's namespaces become those of the program that it executes.
	runtime.LockOSThread()
	if err := joinNamespaces(o); err != nil {
		return fmt.Errorf("entering the namespaces of process %d: %w", o.Holder, err)
	}
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("entering a directory: %w", err)
	}
	return fmt.Errorf("executing %s: %w", path, syscall.Exec(path, command, os.Environ()))
}

func joinGroup(name string) error {
	group, err := OpenCgroup(name)
	if err != nil {
		return err
	}
	return group.Join()
}

func joinNamespaces(o EnterOptions) error {
	network, err := openNamespace(strconv.Itoa(o.Holder), "net")
	if err != nil {
		return err
	}
	defer func() { _ = network.Close() }()
	if !o.NetworkOnly {
		mounts, err := openNamespace(strconv.Itoa(o.Holder), "mnt")
		if err != nil {
			return err
		}
		defer func() { _ = mounts.Close() }()
		// Threads that share a working directory cannot have different mounts.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unsharing the working directory: %w", err)
		}
		if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("joining the mounts: %w", err)
		}
	}
	if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("joining the network: %w", err)
	}
	return nil
}

func openNamespace(process, kind string) (*os.File, error) {
	file, err := os.Open(filepath.Join("/proc", process, "ns", kind))
	if err != nil {
		return nil, fmt.Errorf("opening a namespace: %w", err)
	}
	return file, nil
}

// Dialer connects from within the network of a node, without leaving this process: a socket stays in the network it was made in.
// Addresses are numeric; for names there is no resolver in there.
func Dialer(holder func() (int, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		pid, err := holder()
		if err != nil {
			return nil, err
		}
		var conn net.Conn
		err = inNetwork(pid, func() error {
			var err error
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// inNetwork calls do in the network of a node.
func inNetwork(holder int, do func() error) error {
	runtime.LockOSThread()
	outside, err := openNamespace("thread-self", "net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = outside.Close() }()
	if err := joinNamespaces(EnterOptions{Holder: holder, NetworkOnly: true}); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("entering the network of process %d: %w", holder, err)
	}
	err = do()
	if back := unix.Setns(int(outside.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked and ends with its goroutine: no other may find itself in there.
		return errors.Join(err, fmt.Errorf("leaving the network of process %d: %w", holder, back))
	}
	runtime.UnlockOSThread()
	return err
}
