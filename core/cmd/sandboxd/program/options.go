package program

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"
)

// Bounds of flags.
const (
	highestPort   = 1<<16 - 1
	mostProcesses = 10000
	// mostChunk leaves a message below the 4 MiB that gRPC clients take by default.
	mostChunk  = 1 << 20
	mostOutput = 1 << 30
)

// Options are the flags.
type Options struct {
	// GRPCPort, RESTPort and LegacyPort are where the APIs are served; 0 is nowhere.
	GRPCPort, RESTPort, LegacyPort int
	// ListenHost is the address that is listened at; empty is all of them.
	ListenHost string
	// RootDir holds all files of the APIs.
	RootDir string
	// MetadataEnvPrefix begins the names of the variables that /v1/metadata tells.
	MetadataEnvPrefix string
	// PassEnv are names of variables that programs get though they look like secrets.
	PassEnv []string
	// ShutdownTimeout is how long requests and programs may take to end.
	ShutdownTimeout time.Duration
	// HTTPIdleTimeout is how long a connection is kept without a request.
	HTTPIdleTimeout time.Duration
	// StreamChunkSize is the most bytes of output in one message.
	StreamChunkSize int
	// MaxProcesses is how many programs run at the same time.
	MaxProcesses int
	// MaxOutputBytes of each stream of a program are returned where its output is returned as a whole.
	MaxOutputBytes int
	// MaxProcessDuration is how long a program may run; 0 is for ever.
	MaxProcessDuration time.Duration
	// CopyTo is a path to copy the binary to, in the place of serving anything.
	CopyTo string
}

// NewOptions returns the defaults.
func NewOptions() Options {
	return Options{
		GRPCPort:          9090,
		RESTPort:          8080,
		LegacyPort:        8888,
		RootDir:           "/workspace",
		MetadataEnvPrefix: "SANDBOX_",
		// Paths of public certificates, which have CERT in their names.
		PassEnv:            []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"},
		ShutdownTimeout:    10 * time.Second,
		HTTPIdleTimeout:    time.Minute,
		StreamChunkSize:    4096,
		MaxProcesses:       64,
		MaxOutputBytes:     2000000,
		MaxProcessDuration: 24 * time.Hour,
	}
}

// Flags binds the options to flags of their own.
func (o *Options) Flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringVar(&o.RootDir, "root-dir", o.RootDir, "Directory that holds all files of the APIs; programs run in it.")
	fs.IntVar(&o.GRPCPort, "grpc-port", o.GRPCPort, "Port of the gRPC API, for programs; 0 is for none.")
	fs.IntVar(&o.RESTPort, "rest-port", o.RESTPort, "Port of the REST API, for files; 0 is for none.")
	fs.IntVar(&o.LegacyPort, "legacy-port", o.LegacyPort, "Port of the older runtime API; 0 is for none.")
	fs.StringVar(&o.ListenHost, "listen-host", o.ListenHost, "IP address to listen at; empty is for all of them.")
	fs.StringVar(&o.MetadataEnvPrefix, "metadata-env-prefix", o.MetadataEnvPrefix, "What the names of the variables in /v1/metadata begin with; those that look like secrets are left out.")
	fs.StringSliceVar(&o.PassEnv, "pass-env", o.PassEnv, "Names of variables that programs get from the daemon though they look like secrets.")
	fs.IntVar(&o.MaxProcesses, "max-processes", o.MaxProcesses, "Programs that run at the same time; 1 to 10000.")
	fs.IntVar(&o.MaxOutputBytes, "max-output-bytes", o.MaxOutputBytes, "Bytes of stdout, and again of stderr, that are returned where a program's output is not streamed; 1 to 1073741824.")
	fs.DurationVar(&o.MaxProcessDuration, "max-process-duration", o.MaxProcessDuration, "How long a program of the gRPC API may run before it is killed; 0 is for ever.")
	fs.IntVar(&o.StreamChunkSize, "stream-chunk-size", o.StreamChunkSize, "Most bytes of output in one message of a stream; 1 to 1048576.")
	fs.DurationVar(&o.HTTPIdleTimeout, "http-idle-timeout", o.HTTPIdleTimeout, "How long an HTTP connection is kept without a request; above 0.")
	fs.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", o.ShutdownTimeout, "How long requests and programs may take to end when the daemon is told to; 0 or above.")
	fs.StringVar(&o.CopyTo, "copy-to", o.CopyTo, "Copy the binary to this path and exit, for an init container.")
	fs.Bool(versionFlag, false, "Print the version and exit.")
	return fs
}

// Validate returns an error that names the first flag that is out of bounds.
func (o *Options) Validate() error {
	if err := o.validatePorts(); err != nil {
		return err
	}
	for _, flag := range []struct {
		name             string
		value, low, high int
	}{
		{"max-processes", o.MaxProcesses, 1, mostProcesses},
		{"max-output-bytes", o.MaxOutputBytes, 1, mostOutput},
		{"stream-chunk-size", o.StreamChunkSize, 1, mostChunk},
	} {
		if flag.value < flag.low || flag.value > flag.high {
			return outOfBounds(flag.name, flag.value, fmt.Sprintf("must be from %d to %d", flag.low, flag.high))
		}
	}
	switch {
	case o.RootDir == "":
		return outOfBounds("root-dir", `""`, "must be a directory, as /workspace")
	case o.ListenHost != "" && net.ParseIP(o.ListenHost) == nil:
		return outOfBounds("listen-host", o.ListenHost, "must be an IP address, as 127.0.0.1, or empty for all")
	case o.MaxProcessDuration < 0:
		return outOfBounds("max-process-duration", o.MaxProcessDuration, "must be 0 or above")
	case o.HTTPIdleTimeout <= 0:
		return outOfBounds("http-idle-timeout", o.HTTPIdleTimeout, "must be above 0")
	case o.ShutdownTimeout < 0:
		return outOfBounds("shutdown-timeout", o.ShutdownTimeout, "must be 0 or above")
	}
	return nil
}

func (o *Options) validatePorts() error {
	taken := map[int]string{}
	for _, flag := range []struct {
		name string
		port int
	}{{"grpc-port", o.GRPCPort}, {"rest-port", o.RESTPort}, {"legacy-port", o.LegacyPort}} {
		switch other := taken[flag.port]; {
		case flag.port < 0 || flag.port > highestPort:
			return outOfBounds(flag.name, flag.port, fmt.Sprintf("must be from 1 to %d, or 0 for none", highestPort))
		case flag.port != 0 && other != "":
			return outOfBounds(flag.name, flag.port, "must not be that of --"+other)
		}
		taken[flag.port] = flag.name
	}
	if o.GRPCPort == 0 && o.RESTPort == 0 && o.LegacyPort == 0 {
		return outOfBounds("rest-port", 0, "one of --grpc-port, --rest-port and --legacy-port must not be 0")
	}
	return nil
}

func outOfBounds(flagName string, value any, bound string) error {
	return fmt.Errorf("--%s=%v: %s", flagName, value, bound)
}
