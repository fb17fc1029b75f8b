package integration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// What a refusal goes on with.
const (
	controllersAlone = " may be set by the controllers of Agent Sandbox alone: "
	leaveKeyOut      = controllersAlone + "leave the key out, or take one of a domain of your own"
	leaveRefOut      = " may be made the controller of a Sandbox by the controllers of Agent Sandbox alone: leave the reference out"
)

// awaitPolicies returns once forged metadata is refused: a policy is in force a moment after it is stored.
func awaitPolicies(ctx context.Context) error {
	forged := fixture.Sandbox(metav1.NamespaceDefault, "forged", labelled(sandboxv1beta1.LabelClaimUID, "x"))
	var seen error
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		seen = user.Create(ctx, forged.DeepCopy(), client.DryRunAll)
		return apierrors.IsForbidden(seen) && strings.Contains(seen.Error(), leaveKeyOut), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until a forged label is refused: %w", errors.Join(err, seen))
	}
	return nil
}

// labelled and the like set metadata of a Sandbox; an empty value takes the key away.
func labelled(key, value string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Labels = with(s.Labels, key, value) }
}

func annotated(key, value string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Annotations = with(s.Annotations, key, value) }
}

func with(all map[string]string, key, value string) map[string]string {
	changed := maps.Clone(all)
	if changed == nil {
		changed = map[string]string{}
	}
	changed[key] = value
	if value == "" {
		delete(changed, key)
	}
	return changed
}

// ownedBy replaces the owner references by one.
func ownedBy(apiVersion, kind string, controller bool) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "1-2-3", Controller: ptr.To(controller),
		}}
	}
}

// as returns a client with another name. With every right, so that policies alone refuse; else with those of that name.
func as(t *testing.T, name string, groups ...string) client.WithWatch {
	t.Helper()
	config := rest.CopyConfig(apiServer.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	c, err := await.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUsersCannotForgeWhatSandboxesAreTrustedBy(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	extensionsGroup := extensionsv1beta1.GroupVersion.String()
	cases := map[string]struct {
		forge   func(*sandboxv1beta1.Sandbox)
		refused string
	}{
		"the label of a claim":                  {labelled(sandboxv1beta1.LabelClaimUID, "1-2-3"), `metadata.labels[agents.x-k8s.io/claim-uid]: "1-2-3"` + leaveKeyOut},
		"the label of a pool":                   {labelled(sandboxv1beta1.LabelWarmPool, "0123abcd"), `metadata.labels[agents.x-k8s.io/warm-pool-sandbox]: "0123abcd"` + leaveKeyOut},
		"an empty label of the system":          {func(s *sandboxv1beta1.Sandbox) { s.Labels = map[string]string{sandboxv1beta1.LabelWarmPool: ""} }, `metadata.labels[agents.x-k8s.io/warm-pool-sandbox]: ""` + leaveKeyOut},
		"a label nobody knows":                  {labelled("agents.x-k8s.io/later", "x"), `metadata.labels[agents.x-k8s.io/later]: "x"` + leaveKeyOut},
		"a label of the extensions":             {labelled("extensions.agents.x-k8s.io/later", "x"), `metadata.labels[extensions.agents.x-k8s.io/later]: "x"` + leaveKeyOut},
		"the name of a Pod (A6.1)":              {annotated(sandboxv1beta1.AnnotationPodName, "victim"), `metadata.annotations[agents.x-k8s.io/pod-name]: "victim"` + leaveKeyOut},
		"the name of a template":                {annotated(sandboxv1beta1.AnnotationTemplateRef, "a"), `metadata.annotations[agents.x-k8s.io/sandbox-template-ref]: "a"` + leaveKeyOut},
		"a value that is too long to tell":      {annotated("agents.x-k8s.io/later", strings.Repeat("x", 100_000)), `metadata.annotations[agents.x-k8s.io/later]: "` + strings.Repeat("x", 200) + `..."` + leaveKeyOut},
		"a value with a line break":             {annotated("agents.x-k8s.io/later", "a\nb"), `metadata.annotations[agents.x-k8s.io/later]: "a\nb"` + leaveKeyOut},
		"a claim as controller":                 {ownedBy(extensionsGroup, sandboxv1beta1.ClaimKind, true), "metadata.ownerReferences: SandboxClaim.extensions.agents.x-k8s.io owner (UID 1-2-3)" + leaveRefOut},
		"a pool as controller (A3.5)":           {ownedBy(extensionsGroup, sandboxv1beta1.WarmPoolKind, true), "metadata.ownerReferences: SandboxWarmPool.extensions.agents.x-k8s.io owner (UID 1-2-3)" + leaveRefOut},
		"a controller of a version long gone":   {ownedBy("extensions.agents.x-k8s.io/v1alpha1", sandboxv1beta1.WarmPoolKind, true), "metadata.ownerReferences: SandboxWarmPool." + leaveRefOutOf("extensions.agents.x-k8s.io")},
		"a Sandbox as controller":               {ownedBy(sandboxv1beta1.GroupVersion.String(), sandboxv1beta1.SandboxKind, true), "metadata.ownerReferences: Sandbox." + leaveRefOutOf("agents.x-k8s.io")},
		"a pool as owner, not as controller":    {ownedBy(extensionsGroup, sandboxv1beta1.WarmPoolKind, false), ""},
		"a controller of another kind":          {ownedBy("apps/v1", "StatefulSet", true), ""},
		"a controller of a group named alike":   {ownedBy("my-agents.x-k8s.io/v1", "Agent", true), ""},
		"who made it":                           {labelled(sandboxv1beta1.LabelCreatedBy, sandboxv1beta1.CreatedByGoClient), ""},
		"that it may be adopted":                {labelled(sandboxv1beta1.LabelAdoptable, "true"), ""},
		"when it was asked for":                 {annotated("agents.x-k8s.io/client-first-requested-at", "2027-01-01T00:00:00Z"), ""},
		"the size of its batch":                 {annotated("agents.x-k8s.io/batch-group-min-ready", "3"), ""},
		"the trace it is made in":               {annotated(sandboxv1beta1.AnnotationTraceContext, `{"traceparent":"x"}`), ""},
		"a key of a domain named alike":         {labelled("my-agents.x-k8s.io/claim-uid", "x"), ""},
		"a key that ends like one of the users": {labelled("agents.x-k8s.io/not-adoptable", "x"), `metadata.labels[agents.x-k8s.io/not-adoptable]: "x"` + leaveKeyOut},
		"no metadata at all":                    {func(*sandboxv1beta1.Sandbox) {}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := user.Create(t.Context(), fixture.Sandbox(namespace, "box", c.forge), client.DryRunAll)
			checkForbidden(t, err, c.refused)
		})
	}
}

func leaveRefOutOf(group string) string { return group + " owner (UID 1-2-3)" + leaveRefOut }

// checkForbidden is checkRefused with 403.
func checkForbidden(t *testing.T, err error, want string) {
	t.Helper()
	checkRefused(t, err, want)
	if want != "" && err != nil && !apierrors.IsForbidden(err) {
		t.Errorf("refused with %s, want Forbidden", apierrors.ReasonForError(err))
	}
}

func TestWhoMaySetWhatSandboxesAreTrustedBy(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	cases := map[string]string{ // "": may
		install.UserOf(install.CoreController):                                 "",
		install.UserOf(install.ExtensionsController):                           "",
		"system:serviceaccount:kube-system:generic-garbage-collector":          "",
		"system:serviceaccount:kube-system:namespace-controller":               "",
		"system:kube-controller-manager":                                       "",
		"system:admin":                                                         leaveKeyOut, // as every member of system:masters
		"system:serviceaccount:kube-system:default":                            leaveKeyOut,
		"system:serviceaccount:default:agent-sandbox-controller":               leaveKeyOut,
		"system:serviceaccount:agent-sandbox-system:default":                   leaveKeyOut,
		"system:serviceaccount:agent-sandbox-system:my-controller":             leaveKeyOut,
		"system:serviceaccount:agent-sandbox-system2:agent-sandbox-controller": leaveKeyOut,
		"agent-sandbox-controller":                                             leaveKeyOut,
	}
	for name, refused := range cases {
		t.Run(name, func(t *testing.T) {
			forged := fixture.Sandbox(namespace, "box", labelled(sandboxv1beta1.LabelClaimUID, "x"))
			checkForbidden(t, as(t, name, "system:masters").Create(t.Context(), forged, client.DryRunAll), refused)
		})
	}
}

// memberOf stores a Sandbox as a pool's controller makes it, under the rights of that controller.
func memberOf(t *testing.T, pool *extensionsv1beta1.SandboxWarmPool, name string) *sandboxv1beta1.Sandbox {
	t.Helper()
	member := fixture.Sandbox(pool.Namespace, name,
		labelled(sandboxv1beta1.LabelWarmPool, "0123abcd"), labelled("mine", "x"), annotated(sandboxv1beta1.AnnotationPodName, name))
	owner := *metav1.NewControllerRef(pool, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
	// The API server takes a while after a CRD came until it can judge one that blocks a deletion.
	owner.BlockOwnerDeletion = nil
	member.OwnerReferences = []metav1.OwnerReference{owner}
	fixture.Create(t, as(t, install.UserOf(install.ExtensionsController)), member)
	return member
}

func TestUsersMayEditWhatIsNotReserved(t *testing.T) {
	pool := newPool(t, 0)
	uid := string(pool.UID)
	whose := "SandboxWarmPool.extensions.agents.x-k8s.io pool (UID " + uid + ")"
	asLongAs := " may be removed by the controllers of Agent Sandbox alone, as long as " + whose + " controls this Sandbox: leave it, or delete the Sandbox"
	removedRef := "metadata.ownerReferences: " + whose + " may be removed by the controllers of Agent Sandbox alone: leave it"
	cases := map[string]struct {
		edit    func(*sandboxv1beta1.Sandbox)
		refused string
	}{
		"suspend":                        {fixture.WithMode(sandboxv1beta1.OperatingModeSuspended), ""},
		"label":                          {labelled("mine", "y"), ""},
		"take a label of one's own away": {labelled("mine", ""), ""},
		"say who made it":                {labelled(sandboxv1beta1.LabelCreatedBy, sandboxv1beta1.CreatedByPythonClient), ""},
		"hold it by a finalizer":         {func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"example.com/hold"} }, ""},
		"add an owner": {func(s *sandboxv1beta1.Sandbox) {
			s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "4-5-6"})
		}, ""},
		"relabel":                    {labelled(sandboxv1beta1.LabelWarmPool, "4567cdef"), `metadata.labels[agents.x-k8s.io/warm-pool-sandbox]: "4567cdef"` + controllersAlone + `leave it at "0123abcd"`},
		"take its label away":        {labelled(sandboxv1beta1.LabelWarmPool, ""), `metadata.labels[agents.x-k8s.io/warm-pool-sandbox]: "0123abcd"` + asLongAs},
		"add the label of a claim":   {labelled(sandboxv1beta1.LabelClaimUID, "x"), `metadata.labels[agents.x-k8s.io/claim-uid]: "x"` + leaveKeyOut},
		"name another Pod":           {annotated(sandboxv1beta1.AnnotationPodName, "victim"), `metadata.annotations[agents.x-k8s.io/pod-name]: "victim"` + controllersAlone + `leave it at "member"`},
		"take its annotation away":   {annotated(sandboxv1beta1.AnnotationPodName, ""), `metadata.annotations[agents.x-k8s.io/pod-name]: "member"` + asLongAs},
		"say another trace":          {annotated(sandboxv1beta1.AnnotationTraceContext, "{}"), `metadata.annotations[opentelemetry.io/trace-context]: "{}"` + leaveKeyOut},
		"take it from its pool":      {func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil }, removedRef},
		"no longer be controlled":    {func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].Controller = nil }, removedRef},
		"give it to another":         {ownedBy(extensionsv1beta1.GroupVersion.String(), sandboxv1beta1.ClaimKind, true), "may be made the controller of a Sandbox by the controllers of Agent Sandbox alone: leave it to " + whose},
		"take all its metadata away": {func(s *sandboxv1beta1.Sandbox) { s.Labels, s.Annotations, s.OwnerReferences = nil, nil, nil }, asLongAs},
	}
	member := memberOf(t, pool, "member")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			edited := member.DeepCopy()
			c.edit(edited)
			checkForbidden(t, user.Update(t.Context(), edited, client.DryRunAll), c.refused)
		})
	}
	if err := user.Delete(t.Context(), member); err != nil {
		t.Errorf("deleting a member: %v", err)
	}
}

// As with --cascade=orphan: the garbage collector takes the reference away, and then a user may tidy up.
func TestAnOrphanMayBeTidiedUp(t *testing.T) {
	orphan := memberOf(t, newPool(t, 0), "orphan")
	collector := as(t, "system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	release := func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil }
	fixture.MustEdit(t, collector, orphan, release)
	checkForbidden(t, fixture.Edit(t, user, orphan, labelled(sandboxv1beta1.LabelWarmPool, "4567cdef")), `leave it at "0123abcd"`)
	fixture.MustEdit(t, user, orphan, labelled(sandboxv1beta1.LabelWarmPool, ""))
	fixture.MustEdit(t, user, orphan, annotated(sandboxv1beta1.AnnotationPodName, ""))
	checkForbidden(t, fixture.Edit(t, user, orphan, labelled(sandboxv1beta1.LabelWarmPool, "0123abcd")), leaveKeyOut)
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(orphan), orphan); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"mine": "x"}; !maps.Equal(orphan.Labels, want) {
		t.Errorf("labels %v, want %v", orphan.Labels, want)
	}
}

// What the API server makes of metadata in a write of the status, which no policy of ours looks at.
func TestAStatusCarriesNoMetadata(t *testing.T) {
	box := fixture.Sandbox(testkit.Namespace(t, user), "box")
	fixture.Create(t, user, box)
	before := box.DeepCopy()
	labelled(sandboxv1beta1.LabelClaimUID, "x")(box)
	ownedBy(extensionsv1beta1.GroupVersion.String(), sandboxv1beta1.ClaimKind, true)(box)
	box.Status.NodeName = "node"
	if err := user.Status().Patch(t.Context(), box, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if len(box.Labels) != 0 || len(box.OwnerReferences) != 0 || box.Status.NodeName != "node" {
		t.Errorf("labels %v, owners %v, status %+v: want the status alone", box.Labels, box.OwnerReferences, box.Status)
	}
}

func TestAClaimedSandboxIsItsUsersToEdit(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	_, coreBook := startController(t)
	_, extensionsBook := startExtensions(t)
	pool := newPool(t, 1)
	fixture.Must(t, user, pool, await.Members(1))
	claim := fixture.Claim(pool, "claim")
	fixture.Create(t, user, claim)
	given := fixture.Sandbox(claim.Namespace, fixture.Must(t, user, claim, await.Served()).Status.Sandbox.Name)

	fixture.MustEdit(t, user, given, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended))
	fixture.Must(t, user, given, await.Suspended())
	fixture.MustEdit(t, user, given, fixture.WithMode(sandboxv1beta1.OperatingModeRunning))
	fixture.Must(t, user, given, await.Ready())
	checkForbidden(t, fixture.Edit(t, user, given, labelled(sandboxv1beta1.LabelTemplateRef, "")), "may be removed by the controllers of Agent Sandbox alone")
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(given), given); err != nil {
		t.Fatal(err)
	}
	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(given.Namespace, given.Name)}, await.Exists[*corev1.Pod]())
	if want := given.Labels[sandboxv1beta1.LabelTemplateRefHash]; want == "" || pod.Labels[sandboxv1beta1.LabelTemplateRefHash] != want {
		t.Errorf("the Pod has labels %v, want %s=%q", pod.Labels, sandboxv1beta1.LabelTemplateRefHash, want)
	}
	if err := user.Delete(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	for _, line := range slices.Concat(coreBook.lines(), extensionsBook.lines()) {
		if strings.Contains(line, "ValidatingAdmissionPolicy") {
			t.Errorf("a controller was refused: %s", line)
		}
	}
}
