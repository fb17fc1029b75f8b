package quota

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func list(pairs ...string) corev1.ResourceList {
	resources := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		resources[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return resources
}

func podWith(modify ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "box"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1"}}},
	}
	for _, change := range modify {
		change(pod)
	}
	return pod
}

func requests(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = list(pairs...) }
}

func limits(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = list(pairs...) }
}

func podLimit(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Limits: list(pairs...)} }
}

func podRequest(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: list(pairs...)} }
}

func sidecar(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{
		Name: "helper", Image: "image:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Resources: corev1.ResourceRequirements{Requests: list("cpu", "1")},
	}}
}

func deadline(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](60) }

func claimOf(size string, class *string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-box"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: list("storage", size)},
		},
	}
}

func serviceOf() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "box"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
}

func quotaOf(hard, used corev1.ResourceList, scopes ...corev1.ResourceQuotaScope) Limits {
	return Limits{Quotas: []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes},
		Status:     corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}}}
}

func rangeOf(items ...corev1.LimitRangeItem) Limits {
	return Limits{Ranges: []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: corev1.LimitRangeSpec{Limits: items}}}}
}

func both(a, b Limits) Limits {
	return Limits{Quotas: append(a.Quotas, b.Quotas...), Ranges: append(a.Ranges, b.Ranges...)}
}

// Every case is put to a real API server too, which must refuse what has an obstacle, and take what has none.
func TestObstacleIsWhatTheAPIServerRefuses(t *testing.T) {
	container := corev1.LimitTypeContainer
	cases := map[string]struct {
		limits Limits
		obj    client.Object
		want   string
	}{
		"nothing is limited":              {Limits{}, podWith(), ""},
		"a Pod too many":                  {quotaOf(list("pods", "3"), list("pods", "3")), podWith(), `ResourceQuota "q" leaves no room for it: pods (requested 1 of 3)`},
		"room for one more Pod":           {quotaOf(list("pods", "3"), list("pods", "2")), podWith(), ""},
		"a Pod too many, counted by kind": {quotaOf(list("count/pods", "1"), list("count/pods", "1")), podWith(), `ResourceQuota "q" leaves no room for it: count/pods (requested 1 of 1)`},
		"more CPU than is left":           {quotaOf(list("requests.cpu", "2"), list("requests.cpu", "1500m")), podWith(requests("cpu", "1")), `ResourceQuota "q" leaves no room for it: requests.cpu (requested 1 of 2)`},
		"CPU by its short name":           {quotaOf(list("cpu", "2"), list("cpu", "1500m")), podWith(requests("cpu", "1")), `ResourceQuota "q" leaves no room for it: cpu (requested 1 of 2)`},
		"a sidecar counts":                {quotaOf(list("requests.cpu", "2"), list("requests.cpu", "0")), podWith(requests("cpu", "1500m"), sidecar), `ResourceQuota "q" leaves no room for it: requests.cpu (requested 2500m of 2)`},
		"a limit is a request too":        {quotaOf(list("requests.memory", "1Gi"), list("requests.memory", "0")), podWith(limits("memory", "2Gi")), `ResourceQuota "q" leaves no room for it: requests.memory (requested 2Gi of 1Gi)`},
		"a limit above the quota":         {quotaOf(list("limits.memory", "1Gi"), list("limits.memory", "0")), podWith(limits("memory", "2Gi")), `ResourceQuota "q" leaves no room for it: limits.memory (requested 2Gi of 1Gi)`},
		"a limit that must be set":        {quotaOf(list("limits.cpu", "1"), list("limits.cpu", "0")), podWith(), `ResourceQuota "q" leaves no room for it: limits.cpu must be set for container main`},
		"an extended resource":            {quotaOf(list("requests.example.com/gpu", "1"), list("requests.example.com/gpu", "1")), podWith(limits("example.com/gpu", "1")), `ResourceQuota "q" leaves no room for it: requests.example.com/gpu (requested 1 of 1)`},
		"a scope that the Pod is not in":  {quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeTerminating), podWith(), ""},
		"a scope that it is in":           {quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeTerminating), podWith(deadline), `ResourceQuota "q" leaves no room for it: pods (requested 1 of 0)`},
		"best effort":                     {quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeBestEffort), podWith(), `ResourceQuota "q" leaves no room for it: pods (requested 1 of 0)`},
		"better than best effort":         {quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeBestEffort), podWith(requests("cpu", "1")), ""},
		"a disk too big":                  {quotaOf(list("requests.storage", "1Gi"), list("requests.storage", "0")), claimOf("2Gi", nil), `ResourceQuota "q" leaves no room for it: requests.storage (requested 2Gi of 1Gi)`},
		"a disk too many":                 {quotaOf(list("persistentvolumeclaims", "1"), list("persistentvolumeclaims", "1")), claimOf("2Gi", nil), `ResourceQuota "q" leaves no room for it: persistentvolumeclaims (requested 1 of 1)`},
		"a disk of a class with a quota":  {quotaOf(list("fast.storageclass.storage.k8s.io/requests.storage", "1Gi"), list("fast.storageclass.storage.k8s.io/requests.storage", "0")), claimOf("2Gi", ptr.To("fast")), `ResourceQuota "q" leaves no room for it: fast.storageclass.storage.k8s.io/requests.storage (requested 2Gi of 1Gi)`},
		"a disk of another class":         {quotaOf(list("fast.storageclass.storage.k8s.io/requests.storage", "1Gi"), list("fast.storageclass.storage.k8s.io/requests.storage", "0")), claimOf("2Gi", ptr.To("slow")), ""},
		"a Service too many":              {quotaOf(list("services", "1"), list("services", "1")), serviceOf(), `ResourceQuota "q" leaves no room for it: services (requested 1 of 1)`},
		"a container above the most":      {rangeOf(corev1.LimitRangeItem{Type: container, Max: list("cpu", "1")}), podWith(limits("cpu", "2")), `LimitRange "r" does not allow it: cpu of container main is above the most, 1`},
		"a container below the least":     {rangeOf(corev1.LimitRangeItem{Type: container, Min: list("cpu", "500m")}), podWith(requests("cpu", "100m"), limits("cpu", "1")), `LimitRange "r" does not allow it: cpu of container main is below the least, 500m`},
		"a container that gets defaults":  {rangeOf(corev1.LimitRangeItem{Type: container, Max: list("cpu", "1"), Default: list("cpu", "500m"), DefaultRequest: list("cpu", "100m")}), podWith(), ""},
		"defaults that a quota wants":     {both(quotaOf(list("limits.cpu", "1"), list("limits.cpu", "0")), rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "500m"), DefaultRequest: list("cpu", "100m")})), podWith(), ""},
		"a ratio":                         {rangeOf(corev1.LimitRangeItem{Type: container, MaxLimitRequestRatio: list("cpu", "2")}), podWith(requests("cpu", "100m"), limits("cpu", "1")), `LimitRange "r" does not allow it: cpu of container main has a limit above its request times 2`},
		"a Pod above the most":            {rangeOf(corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: list("memory", "1Gi")}), podWith(limits("memory", "2Gi")), `LimitRange "r" does not allow it: memory of the Pod is above the most, 1Gi`},
		"a Pod without a limit":           {rangeOf(corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: list("memory", "1Gi")}), podWith(), `LimitRange "r" does not allow it: memory of the Pod is above the most, 1Gi`},
		"a default limit below the request": {
			rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "1")}), podWith(requests("cpu", "5")),
			`LimitRange "r" spoils it by its defaults: cpu of container main has a request of 5 above a limit of 1`,
		},
		"a default limit that the request keeps":  {rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "1")}), podWith(requests("cpu", "1")), ""},
		"a default limit where there is a limit":  {rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "1")}), podWith(requests("cpu", "5"), limits("cpu", "6")), ""},
		"a default limit of an extended resource": {rangeOf(corev1.LimitRangeItem{Type: container, Default: list("example.com/gpu", "1")}), podWith(), ""},
		"a default limit below a sidecar's request": {
			rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "500m")}), podWith(sidecar),
			`LimitRange "r" spoils it by its defaults: cpu of container helper has a request of 1 above a limit of 500m`,
		},
		"a default limit above the Pod's own": {
			rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "2")}), podWith(podLimit("cpu", "1")),
			`LimitRange "r" spoils it by its defaults: cpu of container main has a limit of 2 above the Pod's, 1`,
		},
		"default requests above the Pod's own": {
			rangeOf(corev1.LimitRangeItem{Type: container, Default: list("cpu", "2"), DefaultRequest: list("cpu", "2")}), podWith(podRequest("cpu", "1")),
			`LimitRange "r" spoils it by its defaults: cpu of all containers is requested at 2 above the Pod's, 1`,
		},
		"a disk above the most":  {rangeOf(corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: list("storage", "1Gi")}), claimOf("2Gi", nil), `LimitRange "r" does not allow it: storage of it is above the most, 1Gi`},
		"a disk below the least": {rangeOf(corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Min: list("storage", "1Gi")}), claimOf("1Mi", nil), `LimitRange "r" does not allow it: storage of it is below the least, 1Gi`},
	}
	api, err := client.New(apiServer.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := testkit.Namespace(t, api)
			limits := store(t, api, namespace, tc.limits)
			obj := tc.obj.DeepCopyObject().(client.Object)
			obj.SetNamespace(namespace)
			if got := limits.Obstacle(obj); got != tc.want {
				t.Errorf("obstacle %q\nwant     %q", got, tc.want)
			}
			err := api.Create(context.Background(), obj)
			refused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) && limits.Spoiler(obj) != ""
			if refused != (tc.want != "") || err != nil && !refused {
				t.Errorf("the API server answers: %v", err)
			}
		})
	}
}

// store puts limits into a namespace and returns them as the API server completes them.
func store(t *testing.T, api client.Client, namespace string, limits Limits) Limits {
	t.Helper()
	var stored Limits
	ctx := context.Background()
	for i := range limits.Quotas {
		quota := limits.Quotas[i].DeepCopy()
		quota.Namespace = namespace
		status := quota.Status
		if err := api.Create(ctx, quota); err != nil {
			t.Fatal(err)
		}
		quota.Status = status
		if err := api.Status().Update(ctx, quota); err != nil {
			t.Fatal(err)
		}
		stored.Quotas = append(stored.Quotas, *quota)
	}
	for i := range limits.Ranges {
		bounds := limits.Ranges[i].DeepCopy()
		bounds.Namespace = namespace
		if err := api.Create(ctx, bounds); err != nil {
			t.Fatal(err)
		}
		stored.Ranges = append(stored.Ranges, *bounds)
	}
	return stored
}

func TestTheTextIsTheSameHoweverMuchIsUsed(t *testing.T) {
	full := quotaOf(list("pods", "3"), list("pods", "3")).Obstacle(podWith())
	fuller := quotaOf(list("pods", "3"), list("pods", "4")).Obstacle(podWith())
	if full != fuller || !strings.Contains(full, "pods") {
		t.Errorf("%q and %q", full, fuller)
	}
}

func TestMakesRoom(t *testing.T) {
	before := quotaOf(list("pods", "3", "requests.cpu", "2"), list("pods", "3", "requests.cpu", "1")).Quotas[0]
	cases := map[string]struct {
		hard, used corev1.ResourceList
		want       bool
	}{
		"nothing changes":      {list("pods", "3", "requests.cpu", "2"), list("pods", "3", "requests.cpu", "1"), false},
		"more is used":         {list("pods", "3", "requests.cpu", "2"), list("pods", "3", "requests.cpu", "2"), false},
		"less is used":         {list("pods", "3", "requests.cpu", "2"), list("pods", "2", "requests.cpu", "1"), true},
		"more is allowed":      {list("pods", "4", "requests.cpu", "2"), list("pods", "3", "requests.cpu", "1"), true},
		"a bound is lifted":    {list("requests.cpu", "2"), list("requests.cpu", "1"), true},
		"a bound is set":       {list("pods", "3", "requests.cpu", "2", "services", "1"), list("pods", "3", "requests.cpu", "1"), false},
		"a bound is tightened": {list("pods", "2", "requests.cpu", "2"), list("pods", "3", "requests.cpu", "1"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := quotaOf(tc.hard, tc.used).Quotas[0]
			if got := MakesRoom(&before, &after); got != tc.want {
				t.Errorf("MakesRoom = %v, want %v", got, tc.want)
			}
		})
	}
	scoped := quotaOf(before.Status.Hard, before.Status.Used, corev1.ResourceQuotaScopeTerminating).Quotas[0]
	if !MakesRoom(&before, &scoped) {
		t.Error("another scope can make room")
	}
}
