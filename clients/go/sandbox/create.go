package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const (
	// namePrefix begins the names of claims that callers do not name.
	namePrefix = "sandbox-"
	// nameSuffix is how many random characters follow.
	nameSuffix = 12
)

// CreateOption says more about the claim that CreateSandbox makes.
type CreateOption func(*request)

// WithClaimName names the claim, which makes CreateSandbox idempotent: a claim of that name with the same request is returned instead of
// another one made. Requests are the same if they ask for the same spec, apart from spec.lifecycle.shutdownTime, and the same labels and
// annotations.
func WithClaimName(name string) CreateOption { return func(r *request) { r.name = name } }

// WithLifetime has the claim, and its sandbox, deleted so long after it is made. Renew moves that.
func WithLifetime(lifetime time.Duration) CreateOption {
	return func(r *request) { r.lifetime = &lifetime }
}

// WithClaim edits the claim before it is made: labels, annotations and spec. Its name is set by WithClaimName alone.
func WithClaim(edit func(*extensionsv1beta1.SandboxClaim)) CreateOption {
	return func(r *request) { r.edits = append(r.edits, edit) }
}

// request is what a claim is made from, once or again.
type request struct {
	pool, namespace, name string
	env                   []extensionsv1beta1.EnvVar
	lifetime              *time.Duration
	edits                 []func(*extensionsv1beta1.SandboxClaim)
}

func (c *Client) wanted(warmPool, namespace string, options []CreateOption) (*request, error) {
	r := &request{pool: warmPool, namespace: namespace, env: c.options.Env}
	setDefault(&r.pool, c.options.WarmPoolName)
	setDefault(&r.namespace, c.options.Namespace)
	for _, option := range options {
		option(r)
	}
	key := Key{Namespace: r.namespace, ClaimName: r.name}
	if r.name == "" {
		key.ClaimName = namePrefix + "x"
	}
	var nameErr, lifetimeErr, poolErr error
	if problems := validation.IsDNS1123Label(key.ClaimName); len(problems) > 0 {
		// A Sandbox that starts cold has the name of its claim, and by that it is a host to others.
		nameErr = fmt.Errorf("claim name %q: %s", r.name, strings.Join(problems, "; "))
	}
	if r.lifetime != nil && *r.lifetime <= 0 {
		lifetimeErr = fmt.Errorf("lifetime %s: use a positive duration", *r.lifetime)
	}
	if r.pool == "" {
		poolErr = errors.New("warmPool \"\": name the SandboxWarmPool to claim from, here or in Options.WarmPoolName")
	}
	return r, errors.Join(key.validate(), nameErr, lifetimeErr, poolErr)
}

// claim is the claim to make now.
func (r *request) claim(ctx context.Context, now time.Time) *extensionsv1beta1.SandboxClaim {
	claim := &extensionsv1beta1.SandboxClaim{Spec: extensionsv1beta1.SandboxClaimSpec{
		WarmPoolRef: extensionsv1beta1.SandboxWarmPoolRef{Name: r.pool},
		Env:         slices.Clone(r.env),
	}}
	if r.lifetime != nil {
		claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{
			ShutdownTime: &metav1.Time{Time: now.Add(*r.lifetime)}, ShutdownPolicy: extensionsv1beta1.ShutdownPolicyDelete,
		}
	}
	for _, edit := range r.edits {
		edit(claim)
	}
	claim.Namespace, claim.Name, claim.GenerateName = r.namespace, r.name, ""
	if claim.Name == "" {
		claim.Name = namePrefix + rand.String(nameSuffix)
	}
	claim.Labels = with(claim.Labels, sandboxv1beta1.LabelCreatedBy, sandboxv1beta1.CreatedByGoClient)
	claim.Annotations = with(claim.Annotations, extensionsv1beta1.AnnotationClientRequestedAt, now.UTC().Format(time.RFC3339Nano))
	if carried := traceContext(ctx); carried != "" {
		claim.Annotations[sandboxv1beta1.AnnotationTraceContext] = carried
	}
	return claim
}

func with(of map[string]string, key, value string) map[string]string {
	copied := maps.Clone(of)
	if copied == nil {
		copied = map[string]string{}
	}
	copied[key] = value
	return copied
}

// traceContext is how controllers learn of the trace that a claim belongs to; empty without one.
func traceContext(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return ""
	}
	// A map of strings has no value that JSON cannot hold.
	carried, _ := json.Marshal(carrier)
	return string(carried)
}
