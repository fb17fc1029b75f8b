package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/reconcile"
)

// lines renders conditions as "Type=Status Reason: message", for tables that people can read.
func lines(conditions []metav1.Condition) []string {
	var out []string
	for _, c := range conditions {
		out = append(out, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

const (
	notSuspendedLine = "Suspended=False NotSuspended: Sandbox is not suspended"
	scheduledLine    = "PodScheduled=True PodScheduled: "
	readyLine        = "Ready=True DependenciesReady: Pod is Ready"
)

func invalid() error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "box", nil)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: "wrong"}}
	return err
}

// waits has the only container wait; ended is how it ended before, if it did.
func waits(reason, message string, ended *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", Image: "example.com/agent:v1", LastTerminationState: corev1.ContainerState{Terminated: ended},
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

func TestACauseIsCutAtItsHead(t *testing.T) {
	long := strings.Repeat("ä", mostOfACause) + "\n the end"
	if got := shortened(long); !strings.HasPrefix(got, "…ä") || !strings.HasSuffix(got, "ä the end") || len([]rune(got)) != mostOfACause+1 {
		t.Errorf("shortened = %q", got)
	}
}

func TestConditionsOfARunningSandbox(t *testing.T) {
	box := sandboxWith()
	pending := func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }
	unschedulable := func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"},
		}}
	}
	unready := func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }
	noIP := func(p *corev1.Pod) { p.Status.PodIPs = nil }
	cases := map[string]struct {
		seen     seen
		failures []error
		want     []string
	}{
		"no Pod yet":               {seenWith(box), nil, []string{notSuspendedLine, "Ready=False DependenciesNotReady: Pod does not exist"}},
		"a Pod that just was made": {seenWith(box, withPods(desiredPod(seenWith(box)))), nil, []string{notSuspendedLine, "PodScheduled=Unknown PodSchedulingUnknown: Pod has not reported a PodScheduled condition yet", "Ready=False DependenciesNotReady: Pod exists with phase: Pending"}},
		"a Pod that waits":         {seenWith(box, withPods(runningPod(pending))), nil, []string{notSuspendedLine, "PodScheduled=Unknown PodSchedulingUnknown: Pod has not reported a PodScheduled condition yet", "Ready=False DependenciesNotReady: Pod exists with phase: Pending"}},
		"a Pod without a place":    {seenWith(box, withPods(runningPod(unschedulable))), nil, []string{notSuspendedLine, "PodScheduled=False Unschedulable: 0/3 nodes", "Ready=False DependenciesNotReady: Pod exists with phase: Pending"}},
		"a Pod that is not ready":  {seenWith(box, withPods(runningPod(unready))), nil, []string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready"}},
		"a container in a crash loop": {
			seenWith(box, withPods(runningPod(unready, waits("CrashLoopBackOff", "back-off 10s", &corev1.ContainerStateTerminated{ExitCode: 9, Reason: "Error"})))), nil,
			[]string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready; container main ended: Error, exit code 9"},
		},
		"a container that ended just now": {
			seenWith(box, withPods(runningPod(unready, func(p *corev1.Pod) {
				done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
				failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "set-up", State: done}}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: failed}, {Name: "other", State: done}}
			}))), nil,
			[]string{
				notSuspendedLine, scheduledLine,
				"Ready=False DependenciesNotReady: Pod is Running but not Ready; container main ended: OOMKilled, exit code 137; container other ended: Completed, exit code 0",
			},
		},
		"a container that cannot be started": {
			seenWith(box, withPods(runningPod(unready, waits("CrashLoopBackOff", "", &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "no such file"})))), nil,
			[]string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready; container main ended: StartError, exit code 128: no such file"},
		},
		"an image that is being pulled in vain, whatever was said of it last": {
			seenWith(box, withPods(runningPod(unready, waits("ErrImagePull", "dial tcp 10.0.0.1:54963: i/o timeout", nil)))), nil,
			[]string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready; container main: ImagePullBackOff: image example.com/agent:v1 cannot be pulled, Events of the Pod say why"},
		},
		"a container whose Secret is missing": {
			seenWith(box, withPods(runningPod(unready, waits("CreateContainerConfigError", "secret \"token\" not found", nil)))), nil,
			[]string{notSuspendedLine, scheduledLine, `Ready=False DependenciesNotReady: Pod is Running but not Ready; container main: CreateContainerConfigError: secret "token" not found`},
		},
		"a container that merely starts": {
			seenWith(box, withPods(runningPod(unready, waits("ContainerCreating", "", nil)))), nil,
			[]string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready"},
		},
		"a Pod without IPs (A1.15)":                   {seenWith(box, withPods(runningPod(noIP))), nil, []string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Ready but has no podIPs yet"}},
		"exactly these three conditions once it runs": {seenWith(box, withPods(runningPod())), nil, []string{notSuspendedLine, scheduledLine, readyLine}},
		"a Pod that is being deleted (A1.2)":          {seenWith(box, withPods(runningPod(onWayOut))), nil, []string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is terminating"}},
		"a required Service that is there":            {seenWith(sandboxWith(service(true)), withPods(runningPod()), withService(ownService())), nil, []string{notSuspendedLine, scheduledLine, readyLine + "; Service Exists"}},
		"a required Service that is missing":          {seenWith(sandboxWith(service(true)), withPods(runningPod())), nil, []string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Ready; Service does not exist"}},
		"a Service that nobody requires":              {seenWith(box, withPods(runningPod()), withService(ownService())), nil, []string{notSuspendedLine, scheduledLine, readyLine}},
		"two Pods, and another error besides (A1.5)":  {seenWith(box, withPods(runningPod(), runningPod())), []error{errors.New("boom")}, []string{notSuspendedLine, "Ready=False MultiplePods: multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod"}},
		"a failure that may pass":                     {seenWith(box), []error{errors.New("boom")}, []string{notSuspendedLine, "Ready=False ReconcilerError: Error seen: boom"}},
		"a failure that is final":                     {seenWith(box), []error{invalid()}, []string{notSuspendedLine, `Ready=False InvalidConfiguration: Error seen: Pod "box" is invalid`}},
		"a final failure beside one that may pass":    {seenWith(box), []error{invalid(), errors.New("boom")}, []string{notSuspendedLine, `Ready=False ReconcilerError: Error seen: Pod "box" is invalid; boom`}},
		"a disk on its way out": {
			seenWith(box), []error{leavingClaim("data-box")},
			[]string{notSuspendedLine, `Ready=False DependenciesNotReady: PersistentVolumeClaim "data-box" is being deleted: the Pod is made once it is gone and made anew`},
		},
		"a disk on its way out, beside a failure": {
			seenWith(box), []error{leavingClaim("data-box"), errors.New("boom")},
			[]string{notSuspendedLine, `Ready=False ReconcilerError: Error seen: PersistentVolumeClaim "data-box" is being deleted: the Pod is made once it is gone and made anew; boom`},
		},
		"Pods that cannot be read": {seenWith(box, func(s *seen) { s.podsUnknown = true }), []error{errors.New("boom")}, []string{notSuspendedLine, "PodScheduled=Unknown PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined", "Ready=False ReconcilerError: Error seen: boom"}},
		"a spec that the Pod was not made from (A1.29)": {
			seenWith(box, withPods(runningPod()), func(s *seen) { s.specHash = "newer" }), nil,
			[]string{notSuspendedLine, scheduledLine, readyLine, "PodTemplateDrifted=True PodSpecChanged: podTemplate.spec has changed since the Pod was created; suspend and resume the Sandbox to apply it"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := desiredStatus(tc.seen, tc.failures, "cluster.local")
			if diff := cmp.Diff(tc.want, lines(status.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			for _, c := range status.Conditions {
				if c.ObservedGeneration != 3 {
					t.Errorf("%s has observedGeneration %d, want 3", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

func TestConditionsOfASuspendedOrEndedSandbox(t *testing.T) {
	past := shutdownAt(testNow.Add(-time.Hour), sandboxv1beta1.ShutdownPolicyRetain)
	finished := metav1.Condition{Type: sandboxv1beta1.ConditionFinished, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonPodFailed, Message: "Pod failed", ObservedGeneration: 3}
	finishedLine := "Finished=True PodFailed: Pod failed"
	oom := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}}}
	}
	evicted := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory"
	}
	cases := map[string]struct {
		seen seen
		want []string
	}{
		"suspending":                             {seenWith(sandboxWith(suspended), withPods(runningPod(onWayOut))), []string{"Suspended=False PodTerminating: Pod is terminating. Sandbox is suspending", scheduledLine, "Ready=False SandboxSuspended: Sandbox is suspending"}},
		"suspended":                              {seenWith(sandboxWith(suspended)), []string{"Suspended=True PodTerminated: Pod has been terminated. Sandbox is suspended", "Ready=False SandboxSuspended: Sandbox is suspended"}},
		"its predecessor's Pod hangs":            {seenWith(sandboxWith(), withForeignPod(runningPod(onWayOut, func(p *corev1.Pod) { p.OwnerReferences = owned("uid-old", "box") }))), []string{notSuspendedLine, "Ready=False DependenciesNotReady: Pod does not exist; an earlier Pod of that name is still on its way out"}},
		"its Service is no longer headless":      {seenWith(sandboxWith(service(true)), withPods(runningPod()), withService(ownService(func(s *corev1.Service) { s.Spec.ClusterIP = "" }))), []string{notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Ready; Service does not exist"}},
		"suspended beside a foreign Pod (A1.13)": {seenWith(sandboxWith(suspended), withForeignPod(runningPod(unowned, unlabelled))), []string{"Suspended=False PodNotOwned: Refused to delete pod because it is not owned by this sandbox", "Ready=False SandboxSuspended: Sandbox is suspending"}},
		"suspended, Pods unreadable": {
			seenWith(sandboxWith(suspended), func(s *seen) { s.podsUnknown = true }),
			[]string{"Suspended=Unknown PodStateUnknown: Pod state is unknown. Sandbox suspension cannot be confirmed", "PodScheduled=Unknown PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined", "Ready=False SandboxSuspended: Sandbox is suspending"},
		},
		"expired":                      {seenWith(sandboxWith(past)), []string{notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired"}},
		"expired, Pod there":           {seenWith(sandboxWith(past), withPods(runningPod(onWayOut))), []string{notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired"}},
		"expired while suspended":      {seenWith(sandboxWith(past, suspended)), []string{"Suspended=True PodTerminated: Pod has been terminated. Sandbox is suspended", "Ready=False SandboxExpired: Sandbox has expired"}},
		"ended well":                   {seenWith(sandboxWith(), withPods(runningPod(phase(corev1.PodSucceeded)))), []string{notSuspendedLine, scheduledLine, "Ready=False PodSucceeded: Pod completed successfully", "Finished=True PodSucceeded: Pod completed successfully"}},
		"ended by a signal":            {seenWith(sandboxWith(), withPods(runningPod(oom))), []string{notSuspendedLine, scheduledLine, "Ready=False PodFailed: Pod failed: container main OOMKilled, exit code 137", "Finished=True PodFailed: Pod failed: container main OOMKilled, exit code 137"}},
		"evicted":                      {seenWith(sandboxWith(), withPods(runningPod(evicted))), []string{notSuspendedLine, scheduledLine, "Ready=False PodFailed: Pod failed: Evicted: The node was low on memory", "Finished=True PodFailed: Pod failed: Evicted: The node was low on memory"}},
		"the end outlives its Pod":     {seenWith(sandboxWith(storedCondition(finished))), []string{notSuspendedLine, "Ready=False PodFailed: Pod failed", finishedLine}},
		"and expiry":                   {seenWith(sandboxWith(storedCondition(finished), past)), []string{notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired", finishedLine}},
		"a new Pod takes the end away": {seenWith(sandboxWith(storedCondition(finished)), withPods(runningPod())), []string{notSuspendedLine, scheduledLine, readyLine}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := desiredStatus(tc.seen, nil, "cluster.local")
			if diff := cmp.Diff(tc.want, lines(status.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditionsOfASuspendedSandboxWithAFailure(t *testing.T) {
	const gone = "Suspended=True PodTerminated: Pod has been terminated. Sandbox is suspended"
	const going = "Suspended=False PodTerminating: Pod is terminating. Sandbox is suspending"
	boom := []error{errors.New("boom")}
	cases := map[string]struct {
		seen seen
		want []string
	}{
		"a Service that cannot be had does not keep it from being suspended": {seenWith(sandboxWith(suspended)), []string{gone, "Ready=False SandboxSuspended: Sandbox is suspended"}},
		"a Pod that cannot be deleted does":                                  {seenWith(sandboxWith(suspended), withPods(runningPod())), []string{going, scheduledLine, "Ready=False ReconcilerError: Error seen: boom"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(desiredStatus(tc.seen, boom, "cluster.local").Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	boom := errors.New("boom")
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "box", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	const soon, later = 20 * time.Second, time.Hour
	cases := map[string]struct {
		wake time.Duration
		done done
		held time.Duration
		want reconcile.Outcome
	}{
		"nothing is left to do":                           {want: reconcile.Done()},
		"it expires some day":                             {wake: later, want: reconcile.Wait(later)},
		"a status is held":                                {wake: later, held: time.Second, want: reconcile.Wait(time.Second)},
		"it changed under the plan":                       {done: done{outdated: true}, want: reconcile.Wait(pauseOutdated)},
		"a failure is the queue's to pace":                {done: done{errors: []error{boom}}, want: reconcile.Failed(errors.Join(boom))},
		"and does not outlast the longest pause":          {wake: later, done: done{errors: []error{boom}}, want: reconcile.Failed(errors.Join(boom))},
		"but in the last minute the expiry is not missed": {wake: soon, done: done{errors: []error{boom}}, want: reconcile.RetryWithin(retryBeforeWake, errors.Join(boom))},
		"a final failure waits for another spec":          {done: done{errors: []error{invalid()}}, want: reconcile.Stalled(sandboxv1beta1.ReasonInvalidConfiguration)},
		"or for the expiry":                               {wake: later, done: done{errors: []error{invalid()}}, want: reconcile.Wait(later)},
		"for a disk to go the cache is looked at":         {done: done{errors: []error{leavingClaim("data-box")}}, want: reconcile.Wait(pauseAwaited)},
		"in a namespace that is going nothing is retried": {done: done{errors: []error{terminating}}, want: reconcile.Stalled(sandboxv1beta1.ReasonInvalidConfiguration)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := outcome(plan{wake: tc.wake}, tc.done, tc.held)
			wantResult, wantErr := tc.want.Result()
			gotResult, gotErr := got.Result()
			if gotResult != wantResult || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) ||
				fmt.Sprint(got.Unreported()) != fmt.Sprint(tc.want.Unreported()) || got.StalledFor() != tc.want.StalledFor() {
				t.Errorf("outcome %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestStatusFields(t *testing.T) {
	selector := "agents.x-k8s.io/sandbox-name-hash=" + boxHash()
	before := func(s *sandboxv1beta1.Sandbox) {
		s.Status = sandboxv1beta1.SandboxStatus{LabelSelector: selector, Service: "box", ServiceFQDN: "box.ns.svc.cluster.local", PodIPs: []string{"10.9.9.9"}, NodeName: "node-9"}
	}
	cases := map[string]struct {
		seen seen
		want sandboxv1beta1.SandboxStatus
	}{
		"a running one says where it is, in both families": {
			seenWith(sandboxWith(service(true)), withPods(runningPod()), withService(ownService())),
			sandboxv1beta1.SandboxStatus{LabelSelector: selector, Service: "box", ServiceFQDN: "box.ns.svc.example.org", PodIPs: []string{"10.0.0.1", "fd00::1"}, NodeName: "node-1"},
		},
		"suspended it keeps selector and Service (A1.10)": {
			seenWith(sandboxWith(before, suspended), withService(ownService())),
			sandboxv1beta1.SandboxStatus{LabelSelector: selector, Service: "box", ServiceFQDN: "box.ns.svc.example.org"},
		},
		"born suspended it has no selector": {seenWith(sandboxWith(suspended)), sandboxv1beta1.SandboxStatus{}},
		"expired it has nothing left (A1.6, A1.7)": {
			seenWith(sandboxWith(before, shutdownAt(testNow, sandboxv1beta1.ShutdownPolicyRetain)), withPods(runningPod()), withService(ownService())),
			sandboxv1beta1.SandboxStatus{},
		},
		"a foreign Pod does not leak in (A1.14)": {
			seenWith(sandboxWith(), withForeignPod(runningPod(unowned))), sandboxv1beta1.SandboxStatus{},
		},
		"with two Pods there is no routing": {
			seenWith(sandboxWith(before, service(true)), withPods(runningPod(), runningPod()), withService(ownService())),
			sandboxv1beta1.SandboxStatus{LabelSelector: selector},
		},
		"a foreign Service is not ours to name": {
			seenWith(sandboxWith(), withPods(runningPod()), withService(ownService(func(s *corev1.Service) { s.OwnerReferences = nil }))),
			sandboxv1beta1.SandboxStatus{LabelSelector: selector, PodIPs: []string{"10.0.0.1", "fd00::1"}, NodeName: "node-1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := desiredStatus(tc.seen, nil, "example.org")
			got.Conditions = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusWindow(t *testing.T) {
	status := func(ready metav1.ConditionStatus, reason string, more ...metav1.Condition) sandboxv1beta1.SandboxStatus {
		return sandboxv1beta1.SandboxStatus{Conditions: append(more, metav1.Condition{Type: sandboxv1beta1.ConditionReady, Status: ready, Reason: reason})}
	}
	placeless := metav1.Condition{Type: sandboxv1beta1.ConditionPodScheduled, Status: metav1.ConditionFalse}
	waiting := status(metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady)
	waitingForNewSpec := status(metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady)
	waitingForNewSpec.Conditions[0].ObservedGeneration = 2
	unscheduled := status(metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady, placeless)
	up := status(metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
	cases := map[string]struct {
		stored, wanted sandboxv1beta1.SandboxStatus
		want           time.Duration
	}{
		"a first status on the way up waits":         {sandboxv1beta1.SandboxStatus{}, waiting, StatusWindow},
		"a further step waits longer":                {waiting, waiting, laterWindow},
		"a new spec has a first step of its own":     {waiting, waitingForNewSpec, StatusWindow},
		"Ready is written at once":                   {waiting, up, 0},
		"the loss of Ready is written at once":       {up, waiting, 0},
		"an error is written at once":                {waiting, status(metav1.ConditionFalse, sandboxv1beta1.ReasonReconcilerError), 0},
		"a Pod without a place is something wrong":   {waiting, unscheduled, 0},
		"that it has found one is soon told":         {unscheduled, waiting, StatusWindow},
		"a suspension is written at once":            {waiting, status(metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxSuspended), 0},
		"a resume waits for the Pod it brings about": {status(metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxSuspended), waiting, StatusWindow},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := statusWindow(tc.stored, tc.wanted); got != tc.want {
				t.Errorf("statusWindow = %v, want %v", got, tc.want)
			}
		})
	}
}
