package program

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

func TestFlagsOutOfBoundsAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"--grpc-port=-1: must be from 1 to 65535, or 0 for none":               {"--grpc-port=-1"},
		"--rest-port=65536: must be from 1 to 65535, or 0 for none":            {"--rest-port=65536"},
		"--legacy-port=9090: must not be that of --grpc-port":                  {"--legacy-port=9090"},
		"--rest-port=0: one of --grpc-port":                                    {"--grpc-port=0", "--rest-port=0", "--legacy-port=0"},
		`--root-dir="": must be a directory, as /workspace`:                    {"--root-dir="},
		"--listen-host=sandbox: must be an IP address, as 127.0.0.1, or empty": {"--listen-host=sandbox"},
		"--max-processes=0: must be from 1 to 10000":                           {"--max-processes=0"},
		"--max-processes=10001: must be from 1 to 10000":                       {"--max-processes=10001"},
		"--max-output-bytes=0: must be from 1 to 1073741824":                   {"--max-output-bytes=0"},
		"--max-output-bytes=1073741825: must be from 1 to 1073741824":          {"--max-output-bytes=1073741825"},
		"--stream-chunk-size=0: must be from 1 to 1048576":                     {"--stream-chunk-size=0"},
		"--stream-chunk-size=1048577: must be from 1 to 1048576":               {"--stream-chunk-size=1048577"},
		"--max-process-duration=-1s: must be 0 or above":                       {"--max-process-duration=-1s"},
		"--http-idle-timeout=0s: must be above 0":                              {"--http-idle-timeout=0"},
		"--shutdown-timeout=-1s: must be 0 or above":                           {"--shutdown-timeout=-1s"},
	} {
		options := NewOptions()
		if err := options.Flags().Parse(args); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if err := options.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, args := range [][]string{nil, {"--grpc-port=0", "--rest-port=0"}, {"--max-process-duration=0"}, {"--listen-host=::1"}, {"--shutdown-timeout=0"}} {
		options := NewOptions()
		flags := options.Flags()
		flags.SetOutput(io.Discard)
		if err := flags.Parse(args); err != nil {
			t.Error(err)
		}
		if err := options.Validate(); err != nil {
			t.Errorf("%v is refused: %v", args, err)
		}
	}
}

func TestTheOlderRuntimeIsSetUpByItsVariables(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		environment map[string]string
		want        legacySettings
		err         string
	}{
		"unset":                    {map[string]string{baseDirVariable: dir}, legacySettings{dir, 300 * time.Second}, ""},
		"set":                      {map[string]string{baseDirVariable: "/elsewhere", timeoutVariable: "1.5"}, legacySettings{"/elsewhere", 1500 * time.Millisecond}, ""},
		"a time that is no number": {map[string]string{timeoutVariable: "5m"}, legacySettings{}, `SANDBOX_EXEC_TIMEOUT_SECONDS="5m": must be a number of seconds above 0`},
		"no time":                  {map[string]string{timeoutVariable: "0"}, legacySettings{}, `SANDBOX_EXEC_TIMEOUT_SECONDS="0"`},
		"a time below none":        {map[string]string{timeoutVariable: "-1"}, legacySettings{}, `SANDBOX_EXEC_TIMEOUT_SECONDS="-1"`},
		"no number at all":         {map[string]string{timeoutVariable: "NaN"}, legacySettings{}, `SANDBOX_EXEC_TIMEOUT_SECONDS="NaN"`},
		"for ever":                 {map[string]string{timeoutVariable: "+Inf"}, legacySettings{}, `SANDBOX_EXEC_TIMEOUT_SECONDS="+Inf"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readLegacy(test.environment, dir)
			if (err != nil) != (test.err != "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("error %v, want %s", err, test.err)
			}
			if difference := cmp.Diff(test.want, got, cmp.AllowUnexported(legacySettings{})); difference != "" {
				t.Errorf("settings (-want +got):\n%s", difference)
			}
		})
	}
}

// A6.12: /v1/metadata tells what begins with the prefix, and no secret.
func TestMetadataTellNoSecret(t *testing.T) {
	told := variables(process.Environment{"SANDBOX_NAME": "mine", "SANDBOX_API_KEY": "s", "SANDBOX_Secret": "s", "HOME": "/", "MY_SANDBOX_NAME": "x"}.Public(nil), "SANDBOX_")
	if difference := cmp.Diff(map[string]string{"SANDBOX_NAME": "mine"}, told); difference != "" {
		t.Errorf("told (-want +got):\n%s", difference)
	}
}
