package program

import (
	"github.com/spf13/pflag"
)

// addInertFlags accepts what only the core's controller acts on, so that one block of arguments starts either.
func addInertFlags(fs *pflag.FlagSet) {
	const elsewhere = "Acted on by agent-sandbox-controller alone."
	fs.Int("sandbox-concurrent-workers", 100, elsewhere)
	fs.Bool("disable-sandbox-events", false, elsewhere)
	fs.Duration("sandbox-write-behind-window", 0, elsewhere)
	fs.String("cluster-domain", "cluster.local", elsewhere)
	fs.Bool("extensions", false, "This binary runs the extensions, with this flag or without.")
}
