package chaos

import (
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
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

func (v Variant) replicas() int {
	if v == Single {
		return 1
	}
	return 2
}

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
	// Binary is the controller to run.
	Binary string
	// LogDir is an existing directory for the logs of controllers and the diary of the run.
	LogDir string
	// AuditLog is the API server's audit log of the run's namespace, if there is one: writes are counted by it.
	AuditLog string
}

// Settings say how a run goes.
type Settings struct {
	Variant Variant
	// Seed decides what users do and when controllers are killed.
	Seed uint64
	// Sandboxes is the number of names.
	Sandboxes int
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
	case s.Sandboxes < 1:
		return fmt.Errorf("--sandboxes=%d: must be above 0", s.Sandboxes)
	case s.Duration <= 0:
		return fmt.Errorf("--duration=%s: must be above 0", s.Duration)
	case s.LeastPause <= 0 || s.MostPause < s.LeastPause:
		return fmt.Errorf("pauses between kills from %s to %s: want them above 0 and in order", s.LeastPause, s.MostPause)
	}
	return nil
}

// namespace is where the Sandboxes of a run are, and nothing else is.
func (v Variant) namespace() string { return "agent-sandbox-chaos-" + string(v) }

func (s Settings) say(format string, args ...any) {
	fmt.Fprintf(s.Progress, "chaos: %s: %s\n", s.Variant, fmt.Sprintf(format, args...))
}
