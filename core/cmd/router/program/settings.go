package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

const fileFlag = "config"

// settle sets what the command line has not: from the file, else from the environment. It fails where either makes no sense.
func settle(flags *pflag.FlagSet, file string, environment func(string) (string, bool)) error {
	values := map[string]string{}
	if file != "" {
		var err error
		if values, err = readFile(flags, file); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if flags.Changed(name) {
			continue
		}
		if err := flags.Set(name, values[name]); err != nil {
			return fmt.Errorf("--%s=%s: key %s: %w", fileFlag, file, name, err)
		}
	}
	for _, from := range variables() {
		value, ok := environment(from.variable)
		if !ok || value == "" || flags.Changed(from.flag) {
			continue
		}
		converted, err := from.convert(value)
		if err == nil {
			err = flags.Set(from.flag, converted)
		}
		if err != nil {
			return fmt.Errorf("environment variable %s=%q, which stands for --%s: %w", from.variable, value, from.flag, err)
		}
	}
	return nil
}

// variable of the environment that stands for a flag.
type variable struct {
	variable, flag string
	convert        func(string) (string, error)
}

func variables() []variable {
	return []variable{
		{"PROXY_TIMEOUT_SECONDS", timeoutFlag, secondsToDuration},
		{"CLUSTER_DOMAIN", domainFlag, func(value string) (string, error) { return value, nil }},
	}
}

func secondsToDuration(value string) (string, error) {
	const bits = 64
	seconds, err := strconv.ParseFloat(value, bits)
	if err != nil {
		return "", fmt.Errorf("must be a number of seconds: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)).String(), nil
}

// readFile returns the values of a file of settings as the command line would have them.
func readFile(flags *pflag.FlagSet, file string) (map[string]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", fileFlag, err)
	}
	var read map[string]json.RawMessage
	if err := yaml.UnmarshalStrict(content, &read); err != nil {
		return nil, fmt.Errorf("--%s=%s: %w", fileFlag, file, err)
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if flags.Lookup(name) == nil || slices.Contains([]string{fileFlag, versionFlag}, name) {
			return nil, fmt.Errorf("--%s=%s: unknown key %q: keys are flags without their dashes, as max-connections", fileFlag, file, name)
		}
		value, err := asArgument(read[name])
		if err != nil {
			return nil, fmt.Errorf("--%s=%s: key %s: %w", fileFlag, file, name, err)
		}
		values[name] = value
	}
	return values, nil
}

// asArgument is a value as the command line would have it.
func asArgument(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, nil
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return strings.Join(list, ","), nil
	}
	if plain := string(raw); plain != "null" && !strings.HasPrefix(plain, "{") && !strings.HasPrefix(plain, "[") {
		return plain, nil
	}
	return "", fmt.Errorf("must be a word, a number, true, false or a list of words, and is %s", raw)
}
