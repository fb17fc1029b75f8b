package sandbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

var podTarget = target{name: "box", uid: "uid-pod"}

func TestDecideAboutThePod(t *testing.T) {
	finished := metav1.Condition{Type: sandboxv1beta1.ConditionFinished, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonPodSucceeded, ObservedGeneration: 3}
	earlier := finished
	earlier.ObservedGeneration = 2
	running := sandboxWith()
	create := podAction{create: desiredPod(seenWith(running))}
	adopt := podAction{patch: &metadataPatch{name: "box", metadata: apply.Metadata{
		UID: "uid-pod", ResourceVersion: "40", OwnerReferences: owned("uid-box", "box"),
		Labels: map[string]*string{}, Annotations: map[string]*string{},
	}}}
	cases := map[string]struct {
		seen seen
		want podAction
	}{
		"a Sandbox without a Pod gets one":                 {seenWith(running), create},
		"a Pod as it should be is left alone":              {seenWith(running, withPods(runningPod())), podAction{}},
		"a Pod on its way out is waited for":               {seenWith(running, withPods(runningPod(onWayOut))), podAction{}},
		"a Pod that ended is not made again (A1.35)":       {seenWith(running, withPods(runningPod(phase(corev1.PodSucceeded)))), podAction{}},
		"nor when its object is gone":                      {seenWith(sandboxWith(storedCondition(finished))), podAction{}},
		"but it is once the spec has changed":              {seenWith(sandboxWith(storedCondition(earlier))), create},
		"of two Pods none is chosen, none made (A1.5)":     {seenWith(running, withPods(runningPod(), runningPod())), podAction{}},
		"suspension deletes the Pod":                       {seenWith(sandboxWith(suspended), withPods(runningPod())), podAction{remove: []target{podTarget}}},
		"suspension deletes it once":                       {seenWith(sandboxWith(suspended), withPods(runningPod(onWayOut))), podAction{}},
		"suspension never touches a foreign Pod (A6.1)":    {seenWith(sandboxWith(suspended), withForeignPod(runningPod(unowned, unlabelled))), podAction{}},
		"expiry deletes the Pod, at the boundary too":      {seenWith(sandboxWith(shutdownAt(testNow, sandboxv1beta1.ShutdownPolicyRetain)), withPods(runningPod())), podAction{remove: []target{podTarget}}},
		"a Pod of the predecessor of that name is awaited": {seenWith(running, withForeignPod(runningPod(func(p *corev1.Pod) { p.OwnerReferences = owned("uid-old", "box") }))), podAction{}},
		"a Pod that others control is refused by name": {
			seenWith(running, withForeignPod(runningPod(func(p *corev1.Pod) { p.OwnerReferences = owned("uid-other", "other") }))),
			podAction{refused: refusal(`Pod "box" is controlled by Sandbox "other": delete it or rename the Sandbox`)},
		},
		"an unowned Pod without our mark is refused": {
			seenWith(running, withForeignPod(runningPod(unowned, unlabelled))),
			podAction{refused: refusal(`Pod "box" exists and is not owned by this Sandbox: delete it, rename the Sandbox, or label it agents.x-k8s.io/adoptable=true to hand it over`)},
		},
		"an orphan with our own name hash is adopted (A1.26, A1.27)": {seenWith(running, withForeignPod(runningPod(unowned))), adopt},
		"and under suspension too, to be deleted as ours":            {seenWith(sandboxWith(suspended), withForeignPod(runningPod(unowned))), adopt},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen).pod, cmp.AllowUnexported(podAction{}, target{}, metadataPatch{})); diff != "" {
				t.Errorf("pod action (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideKeepsPodMetadataInStep(t *testing.T) {
	relabelled := sandboxWith(func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Metadata.Labels = map[string]string{"app": "agent", sandboxv1beta1.LabelSandboxNameHash: "victim"}
	})
	pod := runningPod(func(p *corev1.Pod) {
		p.Labels["foreign"] = "stays"
		p.Labels[sandboxv1beta1.KeyPrefix+"stale"] = "goes"
	})
	got := decide(seenWith(relabelled, withPods(pod))).pod.patch
	want := &metadataPatch{name: "box", metadata: apply.Metadata{
		UID:         "uid-pod",
		Labels:      map[string]*string{"app": ptr.To("agent"), sandboxv1beta1.KeyPrefix + "stale": nil},
		Annotations: map[string]*string{sandboxv1beta1.AnnotationPropagatedLabels: ptr.To("app")},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metadataPatch{})); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestDecideAboutExpiry(t *testing.T) {
	past := testNow.Add(-time.Second)
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"Delete removes the Sandbox as it was seen": {
			seenWith(sandboxWith(shutdownAt(past, sandboxv1beta1.ShutdownPolicyDelete)), withPods(runningPod())),
			plan{remove: &target{name: "box", uid: "uid-box", resourceVersion: "30"}},
		},
		"Retain removes Pod and Service, and makes no disk": {
			seenWith(sandboxWith(shutdownAt(past, sandboxv1beta1.ShutdownPolicyRetain), disk("data")), withPods(runningPod()), withService(ownService())),
			plan{pod: podAction{remove: []target{podTarget}}, service: serviceAction{remove: &target{name: "box", uid: "uid-service"}}},
		},
		"what is gone is not deleted again (A1.8)": {
			seenWith(sandboxWith(shutdownAt(past, sandboxv1beta1.ShutdownPolicyRetain))), plan{},
		},
		"a foreign Service of that name stays": {
			seenWith(sandboxWith(shutdownAt(past, sandboxv1beta1.ShutdownPolicyRetain)), withService(ownService(func(s *corev1.Service) { s.OwnerReferences = nil }))),
			plan{},
		},
		"before the time it wakes at the time": {
			seenWith(sandboxWith(shutdownAt(testNow.Add(time.Minute), sandboxv1beta1.ShutdownPolicyRetain)), withPods(runningPod())),
			plan{wake: time.Minute},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen), cmp.AllowUnexported(plan{}, podAction{}, serviceAction{}, target{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideAboutClaims(t *testing.T) {
	box := sandboxWith(disk("data"))
	made := desiredClaim(box.Spec.VolumeClaimTemplates[0], box)
	claim := func(modify ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := made.DeepCopy()
		c.UID, c.ResourceVersion = "uid-claim", "60"
		for _, change := range modify {
			change(c)
		}
		return c
	}
	adoptable := func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = nil
		c.Labels = map[string]string{sandboxv1beta1.LabelAdoptable: "true"}
	}
	going := func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{Time: testNow} }
	cases := map[string]struct {
		seen seen
		want []claimAction
	}{
		"a missing one is made":      {seenWith(box), []claimAction{{create: made}}},
		"ours is never changed":      {seenWith(box, withClaim(claim(func(c *corev1.PersistentVolumeClaim) { c.Labels = nil }))), nil},
		"one on its way out holds":   {seenWith(box, withClaim(claim(going))), []claimAction{{refused: leavingClaim("data-box")}}},
		"but not a Pod that runs":    {seenWith(box, withClaim(claim(going)), withPods(runningPod())), nil},
		"a suspended one has it too": {seenWith(sandboxWith(disk("data"), suspended)), []claimAction{{create: made}}},
		"a StatefulSet's is let alone": {
			seenWith(box, withClaim(claim(func(c *corev1.PersistentVolumeClaim) {
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "x", Controller: ptr.To(true)}}
			}))),
			[]claimAction{{refused: refusal(`PersistentVolumeClaim "data-box" is controlled by StatefulSet "db": delete it or rename the Sandbox`)}},
		},
		"two of one name are one too many": {
			seenWith(sandboxWith(disk("data"), disk("data")), withClaim(claim())),
			[]claimAction{{refused: invalidSpec(`spec.volumeClaimTemplates[1].metadata.name "data": another template has that name; choose another`)}},
		},
		"one that somebody else's Pod may use is not adopted": {seenWith(box, withClaim(claim(adoptable)), withForeignPod(runningPod(unowned, unlabelled))), nil},
		"an adoptable one is adopted (A6.2)": {
			seenWith(box, withClaim(claim(adoptable))),
			[]claimAction{{adopt: &metadataPatch{name: "data-box", metadata: apply.Metadata{
				UID: "uid-claim", ResourceVersion: "60", OwnerReferences: owned("uid-box", "box"),
				Labels: map[string]*string{sandboxv1beta1.LabelSandboxNameHash: ptr.To(boxHash())},
			}}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen).claims, cmp.AllowUnexported(claimAction{}, metadataPatch{})); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDesiredPodMountsItsDisks(t *testing.T) {
	box := sandboxWith(disk("data"), disk("cache"), func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Spec.Volumes = []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "tmp"},
		}
	})
	got := desiredPod(seenWith(box)).Spec.Volumes
	disk := func(name, claim string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	}
	// A1.25: the PVC takes the place of the volume of its name.
	want := []corev1.Volume{disk("data", "data-box"), {Name: "tmp"}, disk("cache", "cache-box")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if box.Spec.PodTemplate.Spec.Volumes[0].EmptyDir == nil {
		t.Error("the template itself was changed")
	}
}
