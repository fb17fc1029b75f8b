package program

import (
	"time"

	"github.com/spf13/pflag"
)

// addInertFlags accepts what only the extensions' controller acts on, so that one block of arguments starts either.
func addInertFlags(fs *pflag.FlagSet) {
	const elsewhere = "Acted on by agent-sandbox-extensions-controller alone."
	fs.Bool("extensions", false, "The extensions run as the Deployment agent-sandbox-extensions-controller, not in this binary.")
	fs.Int("sandbox-claim-concurrent-workers", 50, elsewhere)
	fs.Int("sandbox-warm-pool-concurrent-workers", 1, elsewhere)
	fs.Int("sandbox-template-concurrent-workers", 1, elsewhere)
	fs.Int("sandbox-warm-pool-max-batch-size", 300, elsewhere)
	fs.Float64("sandbox-warm-pool-max-refill-rate", 0, elsewhere)
	fs.Duration("sandbox-warm-pool-replenish-delay", 0, elsewhere)
	fs.Duration("sandbox-warm-pool-readiness-grace-period", 5*time.Minute, elsewhere)
	fs.Duration("sandbox-warm-pool-unschedulable-recheck-interval", time.Minute, elsewhere)
	fs.Bool("enable-warm-pool-eviction", true, elsewhere)
	fs.Bool("disable-claim-events", false, elsewhere)
	fs.Bool("disable-claim-observability-annotations", false, elsewhere)
	fs.String("router-namespace", "agent-sandbox-system", elsewhere)
}
