//go:build node

package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// restarting sets what becomes of a container that ends.
func restarting(policy corev1.RestartPolicy) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.RestartPolicy = policy }
}

// says wants a condition whose message has all of the texts.
func says(condition string, status metav1.ConditionStatus, texts ...string) await.Want[*sandboxv1beta1.Sandbox] {
	return func(seen *sandboxv1beta1.Sandbox) string {
		if seen == nil {
			return "it does not exist"
		}
		is := meta.FindStatusCondition(seen.Status.Conditions, condition)
		if is == nil || is.Status != status {
			return fmt.Sprintf("condition %s is not %s", condition, status)
		}
		for _, text := range texts {
			if !strings.Contains(is.Message, text) {
				return fmt.Sprintf("condition %s does not say %q but %q", condition, text, is.Message)
			}
		}
		return ""
	}
}

func TestWhatFailsIsLegible(t *testing.T) {
	namespace := newNamespace(t)
	cases := map[string]struct {
		modify []func(*sandboxv1beta1.Sandbox)
		want   await.Want[*sandboxv1beta1.Sandbox]
	}{
		"exit code": {
			[]func(*sandboxv1beta1.Sandbox){running("exit", "7"), restarting(corev1.RestartPolicyNever)},
			says(sandboxv1beta1.ConditionFinished, metav1.ConditionTrue, "main", "exit code 7"),
		},
		"success": {
			[]func(*sandboxv1beta1.Sandbox){running("exit", "0"), restarting(corev1.RestartPolicyNever)},
			await.Condition(sandboxv1beta1.ConditionFinished, metav1.ConditionTrue, sandboxv1beta1.ReasonPodSucceeded),
		},
		"out of memory": {
			[]func(*sandboxv1beta1.Sandbox){running("allocate", "500"), restarting(corev1.RestartPolicyNever)},
			says(sandboxv1beta1.ConditionFinished, metav1.ConditionTrue, "main", "OOMKilled"),
		},
		"crash loop": {
			[]func(*sandboxv1beta1.Sandbox){running("exit", "9"), restarting(corev1.RestartPolicyAlways)},
			says(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, "container main ended: Error, exit code 9"),
		},
		"image that cannot be pulled": {
			[]func(*sandboxv1beta1.Sandbox){func(s *sandboxv1beta1.Sandbox) {
				container := &s.Spec.PodTemplate.Spec.Containers[0]
				container.Image, container.ImagePullPolicy = "registry.invalid/nothing:v1", corev1.PullIfNotPresent
			}},
			says(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, "main", "registry.invalid/nothing:v1"),
		},
		"image that may not be pulled": {
			[]func(*sandboxv1beta1.Sandbox){func(s *sandboxv1beta1.Sandbox) {
				s.Spec.PodTemplate.Spec.Containers[0].Image = "registry.invalid/nothing:v2"
			}},
			says(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, "main", "ErrImageNeverPull"),
		},
		"program that is not there": {
			[]func(*sandboxv1beta1.Sandbox){func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Command = []string{"/nothing"} }},
			says(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, "main", "/nothing"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandbox := box(namespace, strings.ReplaceAll(name, " ", "-"), tc.modify...)
			fixture.Create(t, user, sandbox)
			seen := fixture.Must(t, user, sandbox, tc.want)
			for _, condition := range seen.Status.Conditions {
				t.Logf("%s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
			}
		})
	}
}

// leavingANote writes to the disk when it is asked to end, and then takes a while.
func leavingANote(s *sandboxv1beta1.Sandbox) {
	s.Spec.PodTemplate.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	s.Spec.PodTemplate.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
		Exec: &corev1.ExecAction{Command: []string{"/probe", "write", disk + "/note", "stopped in order"}},
	}}
}

func TestASandboxIsStoppedInOrder(t *testing.T) {
	namespace := newNamespace(t)
	for name, stop := range map[string]func(*sandboxv1beta1.Sandbox){
		"suspended": func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended },
		"expired": func(s *sandboxv1beta1.Sandbox) {
			s.Spec.ShutdownTime, s.Spec.ShutdownPolicy = ptr.To(metav1.NewTime(time.Now())), sandboxv1beta1.ShutdownPolicyRetain
		},
	} {
		t.Run(name, func(t *testing.T) {
			sandbox := box(namespace, name, withDisk, leavingANote)
			pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, name)}
			fixture.Create(t, user, sandbox)
			fixture.Must(t, user, sandbox, await.Ready())
			fixture.MustEdit(t, user, sandbox, stop)
			fixture.MustBeGone(t, user, pod)

			diskSays(t, namespace, name, "stopped in order")
		})
	}
}

func TestASandboxHasItsGracePeriod(t *testing.T) {
	namespace := newNamespace(t)
	const grace = 4
	sandbox := box(namespace, "slow", running("ignore", "5m"), func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Spec.TerminationGracePeriodSeconds = ptr.To[int64](grace)
	})
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	began := time.Now()
	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended })
	fixture.Must(t, user, sandbox, await.Suspended())
	if took := time.Since(began); took < (grace-1)*time.Second {
		t.Errorf("a container that ignores TERM was ended after %s, its grace period is %d s", took, grace)
	}
}
