package chaos

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// Variant is how controllers run.
type Variant string

const (
	// Single is one controller without leader election.
	Single Variant = "single"
	// Elected is two controllers, of which one works.
	Elected Variant = "elected"
)

// Variants returns all variants.
func Variants() []Variant { return []Variant{Single, Elected} }

// Subject is what users work on, and what is judged.
type Subject string

const (
	// Sandboxes are made by users, and the controller of the core works.
	Sandboxes Subject = "sandboxes"
	// Claims get theirs from warm pools: the controllers of core and extensions work, two of each, and parts of the control plane
	// are killed, too.
	Claims Subject = "claims"
)

// Subjects returns all subjects.
func Subjects() []Subject { return []Subject{Sandboxes, Claims} }

// controllers are the names of the Deployments whose controllers work for it.
func (s Subject) controllers() []string {
	if s == Claims {
		return []string{install.CoreController, install.ExtensionsController}
	}
	return []string{install.CoreController}
}

// args are flags of the controllers. The Lease of one that was killed keeps the other out: the defaults would let hardly
// anybody work among kills.
func (v Variant) args() []string {
	if v == Single {
		return []string{"--leader-elect=false"}
	}
	return []string{
		"--leader-elect=true", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
		"--leader-elect-retry-period=500ms",
	}
}

// args are flags of a controller. A small batch makes what a pool may be too large by small.
func (s Settings) args(controller string) []string {
	if controller == install.ExtensionsController {
		return append(s.Variant.args(), fmt.Sprintf("--sandbox-warm-pool-max-batch-size=%d", batch))
	}
	return s.Variant.args()
}

func (v Variant) replicas() int {
	if v == Single {
		return 1
	}
	return 2
}

// batch is how many members of a pool a controller makes at a time.
const batch = 3

// Defaults of Settings.
const (
	// LeastPause and MostPause are bounds of the time between two kills.
	LeastPause = time.Second
	MostPause  = 10 * time.Second
)

// Stage is where a run takes place: a cluster on which Agent Sandbox is installed and no controller works.
type Stage struct {
	// Config reaches the cluster, with every permission and without a limit of requests.
	Config *rest.Config
	// Binaries are the controllers to run, by the names of their Deployments.
	Binaries map[string]string
	// Cluster is that of Config if its parts may be killed and started again; nil: none of them is.
	Cluster *devcluster.Options
	// LogDir is an existing directory for the logs of controllers and the diary of the run.
	LogDir string
	// AuditLog is the API server's audit log of the run's namespace, if there is one: writes are counted by it.
	AuditLog string
}

// Settings say how a run goes.
type Settings struct {
	Subject Subject
	Variant Variant
	// Seed decides what users do and when controllers are killed.
	Seed uint64
	// Names is the number of names of Sandboxes, or of claims.
	Names int
	// Duration is how long users work and controllers are killed.
	Duration time.Duration
	// LeastPause and MostPause are the bounds of the time from when all controllers are ready to the next kill.
	LeastPause, MostPause time.Duration
	// Progress receives what is being done, line by line; io.Discard for nothing.
	Progress io.Writer
}

// validate refuses what cannot work, by the name of the flag where there is one.
func (s Settings) validate() error {
	switch {
	case s.Progress == nil:
		return errors.New("no writer for progress: pass io.Discard for none")
	case s.Variant != Single && s.Variant != Elected:
		return fmt.Errorf("variant %q: want %s or %s", s.Variant, Single, Elected)
	case s.Subject != Sandboxes && s.Subject != Claims:
		return fmt.Errorf("subject %q: want %s or %s", s.Subject, Sandboxes, Claims)
	case s.Subject == Claims && s.Variant != Elected:
		return fmt.Errorf("variant %q: claims have %s controllers", s.Variant, Elected)
	case s.Names < 1:
		return fmt.Errorf("--%s=%d: must be above 0", s.Subject, s.Names)
	case s.Duration <= 0:
		return fmt.Errorf("--duration=%s: must be above 0", s.Duration)
	case s.LeastPause <= 0 || s.MostPause < s.LeastPause:
		return fmt.Errorf("pauses between kills from %s to %s: want them above 0 and in order", s.LeastPause, s.MostPause)
	}
	return nil
}

// Name is that of the run in logs and namespaces.
func (s Settings) Name() string {
	if s.Subject == Claims {
		return string(Claims)
	}
	return string(s.Variant)
}

// namespace is where the objects of a run are, and nothing else is.
func (s Settings) namespace() string { return "agent-sandbox-chaos-" + s.Name() }

// namespaces are those of all runs.
func namespaces() []string {
	var all []string
	for _, subject := range Subjects() {
		for _, v := range Variants() {
			if name := (Settings{Subject: subject, Variant: v}).namespace(); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func (s Settings) say(format string, args ...any) {
	fmt.Fprintf(s.Progress, "chaos: %s: %s\n", s.Name(), fmt.Sprintf(format, args...))
}
