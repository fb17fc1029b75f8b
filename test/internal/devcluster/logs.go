package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followEvery is how often a log that is followed is looked at.
const followEvery = 200 * time.Millisecond

// Logs writes the whole log of a component. It returns an
// *UnknownComponentError if there is no such component.
func (c *Cluster) Logs(name string, out io.Writer) error {
	file, err := c.openLog(name)
	if err != nil {
		return err
	}
	return errors.Join(copyLog(out, file), file.Close())
}

// FollowLogs writes the log of a component and then what is added to it, until
// ctx is done.
func (c *Cluster) FollowLogs(ctx context.Context, name string, out io.Writer) error {
	file, err := c.openLog(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		if err := copyLog(out, file); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (c *Cluster) openLog(name string) (*os.File, error) {
	if err := checkComponent(name); err != nil {
		return nil, err
	}
	file, err := os.Open(c.layout.log(name))
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	return file, nil
}

func copyLog(out io.Writer, file *os.File) error {
	if _, err := io.Copy(out, file); err != nil {
		return fmt.Errorf("copying a log: %w", err)
	}
	return nil
}
