package program

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// What the router asks of the API server at most, in requests a second and at once, for lookups and for reviews each: strangers decide how
// often it has something to ask.
const (
	apiQPS   = 100
	apiBurst = 200
)

// cluster is what the router knows of Kubernetes. Without an API server it is empty.
type cluster struct {
	// lookups and reviews go to the API server; nil where nothing is asked.
	lookups, reviews client.Client
	informers        cache.Cache
	index            *resolve.Index
	synced           func() bool
}

// connect makes what the flags ask for; nothing of it waits for the API server.
func (f *flags) connect(ctx context.Context) (*cluster, error) {
	made := &cluster{synced: func() bool { return true }}
	isReviewing := f.authz.mode == authzTokenReview || f.authz.mode == authzAccessReview
	if !f.cache.enabled && !isReviewing {
		return made, nil
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server (set --kubeconfig or KUBECONFIG outside a cluster; --%s=false needs none): %w", cacheFlag, err)
	}
	config.UserAgent = Name + "/" + version.Get().GitVersion
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	if isReviewing {
		if made.reviews, err = newClient(config, scheme); err != nil {
			return nil, err
		}
	}
	if !f.cache.enabled {
		return made, nil
	}
	if made.lookups, err = newClient(config, scheme); err != nil {
		return nil, err
	}
	return made, made.startIndex(ctx, config, scheme, f.cache.namespace)
}

func (c *cluster) startIndex(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, namespace string) error {
	options, err := resolve.CacheOptions(namespace)
	if err != nil {
		return err
	}
	options.Scheme, options.Mapper = scheme, mapper()
	if c.informers, err = cache.New(config, options); err != nil {
		return fmt.Errorf("creating the cache of Pods: %w", err)
	}
	c.index = resolve.NewIndex(clock.RealClock{})
	c.synced, err = resolve.Feed(ctx, c.informers, c.index)
	return err
}

func newClient(config *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.Burst = apiQPS, apiBurst
	made, err := client.New(own, client.Options{Scheme: scheme, Mapper: mapper()})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return made, nil
}

// mapper knows the kinds that the router uses, so that a start needs no answer of the API server.
func mapper() meta.RESTMapper {
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	// The mapper would guess "sandboxs".
	kinds.AddSpecific(sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind), sandboxv1beta1.GroupVersion.WithResource("sandboxes"),
		sandboxv1beta1.GroupVersion.WithResource("sandbox"), meta.RESTScopeNamespace)
	kinds.Add(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"), meta.RESTScopeRoot)
	kinds.Add(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), meta.RESTScopeRoot)
	return kinds
}

// watch keeps the index up to date until ctx ends.
func (c *cluster) watch(ctx context.Context) error {
	if c.informers == nil {
		return nil
	}
	if err := c.informers.Start(ctx); err != nil {
		return fmt.Errorf("watching Pods: %w", err)
	}
	return nil
}

func (c *cluster) isSynced() bool { return c.synced() }

func (c *cluster) resolver(clusterDomain string) proxy.Resolver {
	if c.index == nil {
		return resolve.NewDirect(clusterDomain)
	}
	return resolve.NewWatching(c.index, c.lookups, clusterDomain)
}

// authenticator is the one of --authz-mode.
func (f *flags) authenticator(c *cluster) (proxy.Authenticator, error) {
	reviews := auth.ReviewOptions{Audiences: f.authz.audiences, TTL: f.authz.ttl, Size: f.authz.size}
	if !f.authz.requireToken {
		reviews.Anonymous = auth.AllowAnonymous
	}
	switch f.authz.mode {
	case authzTokenReview:
		return auth.NewTokenReview(c.reviews, reviews, clock.RealClock{}), nil
	case authzAccessReview:
		return auth.NewAccessReview(c.reviews, reviews, clock.RealClock{}), nil
	case authzScopedToken:
		secret, err := f.authz.readSecret()
		if err != nil {
			return nil, err
		}
		return auth.NewScopedToken(auth.ScopedOptions{
			Secret: secret, Cookie: f.authz.cookie, Query: f.authz.query, SameSite: sameSites()[f.authz.sameSite], Origins: f.authz.origins,
		}, clock.RealClock{}), nil
	default:
		return auth.AllowAll{}, nil
	}
}
