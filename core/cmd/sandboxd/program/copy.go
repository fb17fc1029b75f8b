package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// binaryMode lets everybody run the copy, and nobody change it.
const binaryMode = 0o555

// copyTo copies the running binary to a path: its image has no other program that could. The copy appears at once, and takes the place of an
// older one.
func copyTo(path string) error {
	running, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("opening the running binary: %w", err)
	}
	copied, err := os.CreateTemp(filepath.Dir(path), ".sandboxd-*")
	if err != nil {
		return errors.Join(fmt.Errorf("--copy-to=%s: its directory must be one that can be written to: %w", path, err), running.Close())
	}
	_, err = io.Copy(copied, running)
	err = errors.Join(err, copied.Chmod(binaryMode), copied.Close(), running.Close())
	if err == nil {
		err = os.Rename(copied.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("--copy-to=%s: %w", path, err), os.Remove(copied.Name()))
	}
	return nil
}
