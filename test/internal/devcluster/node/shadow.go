package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// shadow puts a directory over another of the machine that has the same in it, and one empty directory of its own, which may hide
// one of that name: programs that insist on writing there leave nothing on the machine.
func shadow(dir, own string) error {
	made := filepath.Join("/run", "shadows", dir)
	if err := errors.Join(os.MkdirAll(made, 0o755), os.Mkdir(filepath.Join(made, own), 0o755)); err != nil {
		return fmt.Errorf("making a shadow of %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading %s: %w", dir, err)
	}
	for _, entry := range entries {
		if entry.Name() == own {
			continue
		}
		if err := cast(filepath.Join(made, entry.Name()), filepath.Join(dir, entry.Name()), entry.Type()); err != nil {
			return fmt.Errorf("making a shadow of %s: %w", dir, err)
		}
	}
	if err := unix.Mount(made, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting the shadow of %s: %w", dir, err)
	}
	return nil
}

// cast makes one entry of a shadow.
func cast(to, from string, kind os.FileMode) error {
	switch {
	case kind.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	case kind&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	default:
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			return err
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", from, err)
	}
	return nil
}
