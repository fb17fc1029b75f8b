package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/claims"
)

const (
	// listPage is how many claims are read at a time.
	listPage = 500
	// deletions is how many claims are deleted at the same time.
	deletions = 16
)

// Client claims and finds sandboxes, and keeps track of those that it handed out. It is safe for concurrent use.
type Client struct {
	options Options
	config  *rest.Config
	cluster *claims.Cluster
	tracer  trace.Tracer
	log     logr.Logger
	clock   clock.PassiveClock
	tracked *registry
}

// NewClient returns a Client. Nothing is asked of a server yet, so an error is about the options or the kubeconfig.
func NewClient(_ context.Context, options Options) (*Client, error) {
	options = options.completed()
	if err := options.validate(); err != nil {
		return nil, err
	}
	config, err := configOf(options)
	if err != nil {
		return nil, err
	}
	cluster, err := claims.New(config)
	if err != nil {
		return nil, err
	}
	var provider trace.TracerProvider = noop.NewTracerProvider()
	if options.TracerProvider != nil {
		provider = options.TracerProvider
	}
	return &Client{
		options: options,
		config:  config,
		cluster: cluster,
		tracer:  provider.Tracer(options.TraceServiceName),
		log:     loggerOf(options),
		clock:   clock.RealClock{},
		tracked: newRegistry(),
	}, nil
}

func configOf(options Options) (*rest.Config, error) {
	config := options.RESTConfig
	if config == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("loading the kubeconfig: %w: set KUBECONFIG or Options.RESTConfig", err)
		}
		config = loaded
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 && config.RateLimiter == nil {
		// The API server shares itself out; five requests a second would hold up programs with many sandboxes.
		config.QPS = -1
	}
	return config, nil
}

func loggerOf(options Options) logr.Logger {
	switch {
	case options.Logger.GetSink() != nil:
		return options.Logger
	case options.Quiet:
		return logr.Discard()
	default:
		return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
	}
}

// CreateSandbox claims a sandbox from a warm pool and returns it open. An empty warmPool or namespace means that of the Options.
//
// With WithClaimName it is idempotent: the same request returns the same sandbox, another one ErrClaimConflict. If it fails, or ctx ends,
// a claim that this call made is deleted, and one that was there before is left alone. The errors are ErrClaimFailed, ErrClaimConflict,
// ErrTimeout, ErrSandboxDeleted, ErrOrphanedClaim beside another where the claim could not be deleted, and those of the way to the sandbox.
func (c *Client) CreateSandbox(ctx context.Context, warmPool, namespace string, options ...CreateOption) (*Sandbox, error) {
	wanted, err := c.wanted(warmPool, namespace, options)
	if err != nil {
		return nil, err
	}
	sb := newSandbox(c, Key{Namespace: wanted.namespace}, wanted)
	if wanted.name != "" {
		sb = c.tracked.loadOrStore(Key{Namespace: wanted.namespace, ClaimName: wanted.name}, func(key Key) *Sandbox { return newSandbox(c, key, wanted) })
	}
	return c.handOut(ctx, sb, wanted)
}

// GetSandbox returns the sandbox of an existing claim, open. Callers of the same claim get the same Sandbox. One that is suspended is
// returned without being open: Resume opens it. An empty namespace means that of the Options.
func (c *Client) GetSandbox(ctx context.Context, claim, namespace string) (*Sandbox, error) {
	setDefault(&namespace, c.options.Namespace)
	key := Key{Namespace: namespace, ClaimName: claim}
	if err := key.validate(); err != nil {
		return nil, err
	}
	sb := c.tracked.loadOrStore(key, func(key Key) *Sandbox { return newSandbox(c, key, nil) })
	return c.handOut(ctx, sb, nil)
}

// handOut opens a sandbox for a caller, who may be one of several for the same.
func (c *Client) handOut(ctx context.Context, sb *Sandbox, wanted *request) (*Sandbox, error) {
	err := sb.openFor(ctx, wanted)
	if err != nil && !(wanted == nil && errors.Is(err, errSuspended)) {
		c.tracked.settle(sb)
		return nil, err
	}
	if kept := c.tracked.keep(sb); kept != sb {
		// Another caller was faster: the claim is the same, and the connection is its.
		sb.disconnect()
		return kept, nil
	}
	return sb, nil
}

// ListActiveSandboxes returns the claims of the sandboxes that this Client handed out and that were not given back, in order.
func (c *Client) ListActiveSandboxes() []Key { return c.tracked.keys() }

// ListAllSandboxes returns all claims of a namespace, whoever made them. An empty namespace means that of the Options.
func (c *Client) ListAllSandboxes(ctx context.Context, namespace string) ([]Key, error) {
	setDefault(&namespace, c.options.Namespace)
	var keys []Key
	page := metav1.ListOptions{Limit: listPage}
	for {
		list, err := c.cluster.Claims(namespace).List(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("listing the claims of namespace %q: %w", namespace, err)
		}
		for _, claim := range list.Items {
			keys = append(keys, Key{Namespace: claim.Namespace, ClaimName: claim.Name})
		}
		if page.Continue = list.Continue; page.Continue == "" {
			return keys, nil
		}
	}
}

// DeleteSandbox deletes a claim and with it the sandbox, whether this Client handed it out or not. One that is gone is no error.
func (c *Client) DeleteSandbox(ctx context.Context, claim, namespace string) error {
	setDefault(&namespace, c.options.Namespace)
	key := Key{Namespace: namespace, ClaimName: claim}
	if err := key.validate(); err != nil {
		return err
	}
	if sb := c.tracked.load(key); sb != nil {
		return sb.Close(ctx)
	}
	return c.cluster.Delete(ctx, key.Namespace, key.ClaimName, "")
}

// DeleteAll closes all sandboxes that this Client handed out, and deletes their claims. The error joins those of each; what could not be
// deleted stays with the Client, and DeleteAll can be called again.
func (c *Client) DeleteAll(ctx context.Context) error {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		errs    []error
	)
	places := make(chan struct{}, deletions)
	for _, sb := range c.tracked.all() {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := sb.Close(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
