// Command verify checks what is released: rendered assets, the direction of imports between modules, that the linter's
// configuration finds what it should, that the lists of known faults and of threats name tests that exist, that a test runs every
// command of the documents, and that all builds use the same versions. It prints one line for each finding and then fails, unless all
// are warnings.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"sigs.k8s.io/agent-sandbox/release/internal/commands"
	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/imports"
	"sigs.k8s.io/agent-sandbox/release/internal/lintcheck"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
	"sigs.k8s.io/agent-sandbox/release/internal/proofs"
	"sigs.k8s.io/agent-sandbox/release/internal/rules"
	"sigs.k8s.io/agent-sandbox/release/internal/versions"
)

const usage = `usage: verify [flags] assets FILE... | imports | linter | faults | threats | commands | versions MODULE...
  assets   check rendered manifests
  imports  check the direction of imports between the modules below --root
  linter   check that the linter's configuration reports the deliberate breaches in release/testdata/lint
  faults   check that the tests exist which docs/faults.md names
  threats  check that the tests exist which docs/security.md names, and tell which are pending
  commands check that README.md and docs name a test for every block of commands, or mark it as needing a cloud
  versions check that the modules, the workspace and Kubernetes itself are compiled with the same versions of what they have in common
`

const choices = "assets FILE..., versions MODULE..., imports, linter, faults, threats or commands"

type options struct {
	root   string
	linter string
	output string
}

func main() {
	var opts options
	flag.StringVar(&opts.root, "root", ".", "root of the repository")
	flag.StringVar(&opts.linter, "linter", "bin/golangci-lint", "path of golangci-lint")
	flag.StringVar(&opts.output, "o", "text", "form of the findings: text or json")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, opts, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options, args []string) error {
	findings, err := check(ctx, opts, args)
	if err != nil {
		return err
	}
	switch opts.output {
	case "text":
		err = finding.WriteText(os.Stdout, findings)
	case "json":
		err = finding.WriteJSON(os.Stdout, findings)
	default:
		err = fmt.Errorf("-o %q: choose text or json", opts.output)
	}
	breaches := finding.Breaches(findings)
	if warnings := len(findings) - breaches; warnings > 0 {
		fmt.Fprintf(os.Stderr, "verify: %d warnings\n", warnings)
	}
	if err == nil && breaches > 0 {
		err = fmt.Errorf("%d findings", breaches)
	}
	return err
}

func check(ctx context.Context, opts options, args []string) ([]finding.Finding, error) {
	if len(args) == 0 {
		return nil, errors.New("say what to check: " + choices)
	}
	switch command, rest := args[0], args[1:]; {
	case command == "assets" && len(rest) > 0:
		return checkAssets(rest)
	case command == "imports" && len(rest) == 0:
		return imports.Check(os.DirFS(opts.root))
	case command == "faults" && len(rest) == 0:
		return proofs.Check(os.DirFS(opts.root), proofs.Faults())
	case command == "threats" && len(rest) == 0:
		return proofs.Check(os.DirFS(opts.root), proofs.Threats())
	case command == "commands" && len(rest) == 0:
		return commands.Check(os.DirFS(opts.root))
	case command == "versions" && len(rest) > 0:
		return versions.Check(ctx, opts.root, versions.Builds(rest))
	case command == "linter" && len(rest) == 0:
		return lintcheck.Check(ctx, opts.root, opts.linter, filepath.Join(opts.root, "release", "testdata", "lint"))
	}
	return nil, fmt.Errorf("cannot check %q: want %s", args, choices)
}

func checkAssets(paths []string) ([]finding.Finding, error) {
	var findings []finding.Finding
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading an asset: %w", err)
		}
		asset, err := manifest.Parse(path, content)
		if err != nil {
			return nil, err
		}
		findings = append(findings, rules.Check(asset)...)
	}
	return findings, nil
}
