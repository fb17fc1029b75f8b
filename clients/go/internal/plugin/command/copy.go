package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	utilexec "k8s.io/client-go/util/exec"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/archive"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/podexec"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

func (t *tool) copy() *cobra.Command {
	var container string
	cmd := &cobra.Command{
		Use:     "cp (LOCAL NAME:PATH | NAME:PATH LOCAL)",
		Short:   "Copy files into a Sandbox, or out of it",
		GroupID: groupUse,
		Long: `Copy a file or a directory into a Sandbox, or out of it. A directory that exists gets it inside. The container needs the program tar.

What comes out of a Sandbox is not trusted: links are left out, and a name that leads elsewhere ends the command.`,
		Example: `  kubectl sandbox cp ./src my-sandbox:/workspace
  kubectl sandbox cp claim/my-session:/workspace/result.json .`,
		Args:              names(2, 2),
		ValidArgsFunction: t.complete(target.Any),
	}
	cmd.Flags().StringVarP(&container, "container", "c", "", "Container to copy from or to; without it the Pod's default, else its first.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, to := readPlace(args[0]), readPlace(args[1])
		if (from.name == "") == (to.name == "") {
			return UsageError{fmt.Errorf("%q, %q: one of them has to be NAME:PATH, the other one a path of this machine", args[0], args[1])}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		in, err := t.container(cmd.Context(), c, from.name+to.name, container)
		if err != nil {
			return err
		}
		transfer := transfer{in: in, skipped: t.skipped}
		if to.name != "" {
			return transfer.upload(cmd.Context(), from.path, to.path)
		}
		return transfer.download(cmd.Context(), from.path, to.path)
	}
	return cmd
}

// place is one end of a copy: a path of this machine, or one of the Pod behind a name.
type place struct{ name, path string }

// readPlace reads NAME:PATH, or a path. A path with a colon is one of this machine if it begins with a dot or a slash.
func readPlace(text string) place {
	name, remote, found := strings.Cut(text, ":")
	if !found || strings.HasPrefix(text, ".") || filepath.IsAbs(text) {
		return place{path: text}
	}
	return place{name, remote}
}

// argument keeps a path from being taken for an option.
func argument(path string) string {
	switch {
	case path == "":
		return "."
	case strings.HasPrefix(path, "-"):
		return "./" + path
	}
	return path
}

// errReadsNoMore : the container ended before it had everything.
var errReadsNoMore = errors.New("the container reads no more")

func (t *tool) skipped(name, why string) {
	fmt.Fprintf(t.Streams.ErrOut, "%q is left out: %s\n", name, why)
}

// runner runs commands in a container.
type runner interface {
	Run(ctx context.Context, command []string, s podexec.Streams) error
}

// transfer copies files into a container, or out of it.
type transfer struct {
	in      runner
	skipped archive.Skipped
}

func (t transfer) upload(ctx context.Context, local, remote string) error {
	absolute, err := filepath.Abs(local)
	if err == nil {
		_, err = os.Stat(absolute)
	}
	if err != nil {
		return fmt.Errorf("copying %q: %w", local, err)
	}
	remote = argument(remote)
	dir, name := path.Split(path.Clean(remote))
	isDir, err := t.isDirectory(ctx, remote)
	if err != nil {
		return err
	}
	if isDir {
		dir, name = remote, filepath.Base(absolute)
	}
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := archive.Pack(writer, absolute, name, t.skipped)
		packed <- err
		_ = writer.CloseWithError(err)
	}()
	var complaint bytes.Buffer
	err = t.in.Run(ctx, []string{"tar", "-xmf", "-", "-C", argument(dir)}, podexec.Streams{In: reader, Out: io.Discard, ErrOut: &complaint})
	_ = reader.CloseWithError(errReadsNoMore)
	packErr := <-packed
	if errors.Is(packErr, errReadsNoMore) && err != nil {
		packErr = nil
	}
	return errors.Join(packErr, tarError(err, &complaint))
}

func (t transfer) download(ctx context.Context, remote, local string) (err error) {
	dir, name := path.Split(path.Clean(argument(remote)))
	if name == "" || name == "." || name == ".." {
		return UsageError{fmt.Errorf("%q: name the file or directory itself, as NAME:/workspace", remote)}
	}
	to, err := filepath.Abs(local)
	if err != nil {
		return fmt.Errorf("copying to %q: %w", local, err)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, name)
	}
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return fmt.Errorf("copying to %q: %w", local, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader, writer := io.Pipe()
	ran := make(chan error, 1)
	var complaint bytes.Buffer
	go func() {
		err := t.in.Run(ctx, []string{"tar", "-cf", "-", "-C", argument(dir), "./" + name}, podexec.Streams{Out: writer, ErrOut: &complaint})
		_ = writer.Close()
		ran <- err
	}()
	unpackErr := archive.Unpack(reader, root, name, filepath.Base(to), t.skipped)
	if unpackErr != nil && !errors.Is(unpackErr, archive.ErrNothing) {
		cancel()
	}
	// What tar pads the stream with is of no interest, but has to be read.
	_, _ = io.Copy(io.Discard, reader)
	if ranErr := <-ran; unpackErr == nil || !errors.Is(ranErr, context.Canceled) {
		return errors.Join(unpackErr, tarError(ranErr, &complaint))
	}
	return unpackErr
}

// tarError adds what tar says of an error. Its exit code is none of the plugin's.
func tarError(err error, complaint *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(complaint.String())
	if said == "" || !errors.As(err, &utilexec.CodeExitError{}) {
		said += needsTar
	}
	return fmt.Errorf("%v: %s", err, said) //nolint:errorlint // Not wrapped, or tar's exit code would be the plugin's.
}

// isDirectory asks the container whether a path is a directory. One without the program test has to be believed that it is not.
func (t transfer) isDirectory(ctx context.Context, remote string) (bool, error) {
	err := t.in.Run(ctx, []string{"test", "-d", remote}, podexec.Streams{Out: io.Discard, ErrOut: io.Discard})
	if errors.As(err, &utilexec.CodeExitError{}) {
		return strings.HasSuffix(remote, "/"), nil
	}
	if err != nil {
		return false, fmt.Errorf("asking whether %q is a directory: %w: %s", remote, err, needsTar)
	}
	return true, nil
}

// needsTar is what to look at where a program did not even start.
const needsTar = "are the programs tar and test in the container?"
