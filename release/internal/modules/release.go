package modules

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a checkout of this repository.
type Repository struct {
	directory string
	out       io.Writer
}

// Open returns the checkout in a directory; what is done to it is told to out.
func Open(directory string, out io.Writer) Repository { return Repository{directory, out} }

// Release commits go.mod files that require a version of each other, and tags that commit with the version and, as Go wants it, with
// the version behind the directory of each published module. Nothing is pushed: it prints the command that does. It fails, and changes
// nothing, if the version is none, is there already, or if something is not committed.
func (r Repository) Release(ctx context.Context, version string) error {
	if err := validate(version); err != nil {
		return err
	}
	if err := r.ready(ctx, version); err != nil {
		return err
	}
	files, err := r.rewritten(ctx, version)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(r.directory, name), content, 0o644); err != nil { //nolint:gosec // As Git makes files.
			return fmt.Errorf("writing requirements: %w", err)
		}
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--allow-empty", "--all", "--message", "Release "+version); err != nil {
		return err
	}
	tags := tagsOf(version)
	for _, tag := range tags {
		if _, err := r.git(ctx, "tag", "--annotate", "--message", "Release "+version, tag); err != nil {
			return err
		}
		fmt.Fprintln(r.out, "tagged", tag)
	}
	fmt.Fprintf(r.out, "\nNothing has left this checkout yet. To publish:\n  git push --atomic origin HEAD %s\n", strings.Join(tags, " "))
	return nil
}

func tagsOf(version string) []string {
	tags := []string{version}
	for _, directory := range published() {
		tags = append(tags, Tag(directory, version))
	}
	return tags
}

// ready fails if the checkout has changes or the version.
func (r Repository) ready(ctx context.Context, version string) error {
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("what is tagged has to be committed, and this is not:\n%s", changed)
	}
	existing, err := r.git(ctx, append([]string{"tag", "--list"}, tagsOf(version)...)...)
	if err != nil {
		return err
	}
	if existing != "" {
		return fmt.Errorf("version %s is there already: tags %s; a version that was published never changes: take the next one",
			version, strings.Join(strings.Fields(existing), ", "))
	}
	return nil
}

// rewritten returns every go.mod that is to change, by its path in the repository.
func (r Repository) rewritten(ctx context.Context, version string) (map[string][]byte, error) {
	listed, err := r.git(ctx, "ls-files", "--", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range strings.Fields(listed) {
		before, err := os.ReadFile(filepath.Join(r.directory, name))
		if err != nil {
			return nil, fmt.Errorf("reading requirements: %w", err)
		}
		after, err := requiring(name, before, version)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(before, after) {
			files[name] = after
		}
	}
	return files, nil
}

func (r Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.directory
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output)), nil
}
