package manifest

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// ClaimOptions say what a claim is to be.
type ClaimOptions struct {
	Namespace, Name string
	// Pool to take a Sandbox from.
	Pool string
	// Env are NAME=VALUE, for Container; empty is the first regular one.
	Env       []string
	Container string
	// TTL is how long it lives; 0 is for ever.
	TTL time.Duration
	// TTLAfterFinished is how long it lives after the end of its Pod, in whole seconds; nil is for ever.
	TTLAfterFinished *time.Duration
}

// Claim is the claim that is asked for, made at an instant. The error names the option that cannot be read.
func Claim(o ClaimOptions, now time.Time) (*extensionsv1beta1.SandboxClaim, error) {
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	claim.Spec.WarmPoolRef.Name = o.Pool
	for _, text := range o.Env {
		name, value, err := variable(text)
		if err != nil {
			return nil, err
		}
		claim.Spec.Env = append(claim.Spec.Env, extensionsv1beta1.EnvVar{Name: name, Value: value, ContainerName: o.Container})
	}
	shutdown, err := expiry(o.TTL, now)
	if err != nil {
		return nil, err
	}
	lifecycle := &extensionsv1beta1.Lifecycle{ShutdownTime: shutdown}
	if after := o.TTLAfterFinished; after != nil {
		if *after < 0 || *after%time.Second != 0 || after.Seconds() > math.MaxInt32 {
			return nil, fmt.Errorf("--ttl-after-finished=%s: must be whole seconds, 0 or above and %d at most", *after, math.MaxInt32)
		}
		lifecycle.TTLSecondsAfterFinished = ptr.To(int32(after.Seconds()))
	}
	if lifecycle.ShutdownTime != nil || lifecycle.TTLSecondsAfterFinished != nil {
		claim.Spec.Lifecycle = lifecycle
	}
	return claim, nil
}
