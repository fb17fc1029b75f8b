package program

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

// Variables that the older runtime was set up by.
const (
	baseDirVariable = "SANDBOX_BASE_DIR"
	timeoutVariable = "SANDBOX_EXEC_TIMEOUT_SECONDS"
)

const (
	// usualBaseDir is where images of the older runtime have their files.
	usualBaseDir = "/app"
	// usualTimeout is how long programs of the older API may run.
	usualTimeout = 300 * time.Second
	// longestTimeout is a year, so that no number of seconds overflows.
	longestTimeout = 365 * 24 * time.Hour
)

// legacySettings are those that its variables and the directories of the image make.
type legacySettings struct {
	baseDir string
	timeout time.Duration
}

func readLegacy(environment process.Environment, rootDir string) (legacySettings, error) {
	settings := legacySettings{baseDir: environment[baseDirVariable], timeout: usualTimeout}
	if settings.baseDir == "" {
		settings.baseDir = rootDir
		if info, err := os.Stat(usualBaseDir); err == nil && info.IsDir() {
			settings.baseDir = usualBaseDir
		}
	}
	text := environment[timeoutVariable]
	if text == "" {
		return settings, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) || seconds > longestTimeout.Seconds() {
		return legacySettings{}, fmt.Errorf("%s=%q: must be a number of seconds above 0, to %.0f", timeoutVariable, text, longestTimeout.Seconds())
	}
	settings.timeout = time.Duration(seconds * float64(time.Second))
	return settings, nil
}
