package sandbox

import "context"

// Handle is what programs do with a sandbox, for those that want a fake in their tests.
type Handle interface {
	// Open is Sandbox.Open.
	Open(ctx context.Context) error
	// Close is Sandbox.Close.
	Close(ctx context.Context) error
	// Disconnect is Sandbox.Disconnect.
	Disconnect(ctx context.Context) error
	// IsReady is Sandbox.IsReady.
	IsReady() bool
	// Run is Sandbox.Run.
	Run(ctx context.Context, command string, options ...CallOption) (*ExecutionResult, error)
	// Write is Sandbox.Write.
	Write(ctx context.Context, path string, content []byte, options ...CallOption) error
	// Read is Sandbox.Read.
	Read(ctx context.Context, path string, options ...CallOption) ([]byte, error)
	// List is Sandbox.List.
	List(ctx context.Context, path string, options ...CallOption) ([]FileEntry, error)
	// Exists is Sandbox.Exists.
	Exists(ctx context.Context, path string, options ...CallOption) (bool, error)
}

// Info is what is known of a sandbox.
type Info interface {
	// ClaimName is Sandbox.ClaimName.
	ClaimName() string
	// SandboxName is Sandbox.SandboxName.
	SandboxName() string
	// PodName is Sandbox.PodName.
	PodName() string
	// PodIP is Sandbox.PodIP.
	PodIP() string
	// Annotations is Sandbox.Annotations.
	Annotations() map[string]string
}

var (
	_ Handle = (*Sandbox)(nil)
	_ Info   = (*Sandbox)(nil)
)
