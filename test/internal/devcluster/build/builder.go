package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/lock"
)

// Builder makes targets in one output directory.
type Builder struct {
	root     string
	out      string
	progress io.Writer
}

// New returns a Builder for the repository at root; its output directory is
// bin/k8s there. Progress is reported line by line.
func New(root string, progress io.Writer) *Builder {
	return &Builder{root: root, out: filepath.Join(root, "bin", "k8s"), progress: progress}
}

// Dir returns the output directory.
func (b *Builder) Dir() string {
	return b.out
}

// job is a target together with what its stamp must say.
type job struct {
	target Target
	flags  []string
	inputs string
}

// Ensure builds those of the targets that are missing or out of date.
// Concurrent calls, also of other processes, take turns. Nothing half-built is
// left where ctx ends or a build fails.
func (b *Builder) Ensure(ctx context.Context, targets []Target) error {
	jobs, err := b.jobs(ctx, targets)
	if err != nil {
		return err
	}
	if len(b.stale(jobs)) == 0 {
		return nil
	}
	held, err := lock.Acquire(ctx, filepath.Join(b.out, ".lock"), func() {
		b.report("waiting for another build in %s", b.out)
	})
	if err != nil {
		return err
	}
	defer func() { _ = held.Release() }()
	stale := b.stale(jobs)
	if len(stale) > 0 {
		b.report("building into %s; with empty Go caches this takes many minutes", b.out)
	}
	for i, j := range stale {
		if err := b.make(ctx, j, fmt.Sprintf("[%d/%d]", i+1, len(stale))); err != nil {
			return fmt.Errorf("building %s: %w", j.target.Name, err)
		}
	}
	return nil
}

func (b *Builder) jobs(ctx context.Context, targets []Target) ([]job, error) {
	version, err := goOutput(ctx, b.root, "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	jobs := make([]job, 0, len(targets))
	for _, t := range targets {
		inputs, err := inputsOf(b.root, t, goFlags(), version)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job{target: t, flags: goFlags(), inputs: inputs})
	}
	return jobs, nil
}

func (b *Builder) stale(jobs []job) []job {
	var stale []job
	for _, j := range jobs {
		if !fresh(b.out, j.target.Name, j.inputs) {
			stale = append(stale, j)
		}
	}
	return stale
}

// make builds one target under a temporary name and puts it in place.
func (b *Builder) make(ctx context.Context, j job, position string) error {
	t := j.target
	temporary := filepath.Join(b.out, "."+t.Name+".tmp")
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("removing what an earlier build left: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	dir := filepath.Join(b.root, filepath.FromSlash(t.Module))
	source, err := readSource(ctx, dir, t.Source)
	if err != nil {
		return err
	}
	label := position + " " + t.Name
	if source.Version != "" {
		label += " " + source.Version
	}
	b.report("%s: building", label)
	started := time.Now()
	if len(t.Files) > 0 {
		err = concatenate(temporary, source.Dir, t.Files)
	} else {
		err = b.link(ctx, dir, temporary, j, source, label)
	}
	if err != nil {
		return err
	}
	b.report("%s: done in %s", label, time.Since(started).Round(time.Second/10))
	return install(temporary, b.out, t.Name, j.inputs)
}

func (b *Builder) link(ctx context.Context, dir, out string, j job, source module, label string) error {
	t := j.target
	args := append([]string{"build"}, j.flags...)
	if len(t.Tags) > 0 {
		args = append(args, "-tags", strings.Join(t.Tags, ","))
	}
	if t.Patch != nil {
		file, cleanUp, err := patched(dir, filepath.Join(b.out, "."+t.Name+".patched"), t, source)
		if err != nil {
			return err
		}
		defer cleanUp()
		args = append(args, "-modfile", file)
	}
	args = append(args, "-ldflags", linkFlags(t.Variables, source), "-o", out, t.Package)
	return runGo(ctx, dir, args, t.Cgo, func(elapsed time.Duration) {
		b.report("%s: building for %s", label, elapsed.Round(time.Second))
	})
}

func (b *Builder) report(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...)
}

// concatenate writes the files that match the patterns, as YAML documents.
func concatenate(out, dir string, patterns []string) error {
	var all []byte
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no file in %s matches %s", dir, pattern)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("reading a module's file: %w", err)
			}
			all = append(append(all, "---\n"...), data...)
		}
	}
	if err := os.WriteFile(out, all, 0o644); err != nil {
		return fmt.Errorf("writing files of a module: %w", err)
	}
	return nil
}
