// Command reference writes the tables of flags and metrics into docs/configuration.md and docs/metrics.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/test/internal/reference"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	// Nothing is started that would log.
	log.SetLogger(logr.Discard())
	if err := reference.Generate(context.Background(), *root); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
