package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestTunablesSetWhatTheCommandLineLeaves(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"workers": "7\n", "window": "2s", "allowed-label-domains": "example.com"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// As a ConfigMap is mounted: its keys link into a directory of the kubelet's.
	if err := os.Mkdir(filepath.Join(dir, "..data"), 0o700); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	workers, window := flags.Int("workers", 1, ""), flags.Duration("window", 0, "")
	if err := flags.Parse([]string{"--window=1s"}); err != nil {
		t.Fatal(err)
	}
	if err := readTunables(dir, flags); err != nil {
		t.Fatal(err)
	}
	if *workers != 7 || *window != time.Second {
		t.Errorf("workers %d, window %s: the command line wins", *workers, *window)
	}
}

func TestASettingIsReadFromTheConfigMap(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "domains"), []byte("a.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"domains": "a.example", "absent": ""} {
		if value, err := readSetting(dir, key); err != nil || value != want {
			t.Errorf("%s is %q, %v: want %q", key, value, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "unreadable"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := readSetting(dir, "unreadable"); err == nil || !strings.Contains(err.Error(), "key unreadable of the ConfigMap agent-sandbox-config") {
		t.Errorf("a key that cannot be read: %v", err)
	}
}

func TestTunablesThatCannotBeReadEndTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "workers"), []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Int("workers", 1, "")
	err := readTunables(dir, flags)
	const want = `ConfigMap agent-sandbox-config: invalid argument "many" for "--workers" flag: strconv.ParseInt: parsing "many": invalid syntax`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if err := readTunables(filepath.Join(dir, "absent"), flags); err != nil {
		t.Errorf("the ConfigMap is optional: %v", err)
	}
}
