package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Explain reads what an object stands on, and explains it. The object is a Sandbox, a claim, a pool or a template, as it was read.
func Explain(ctx context.Context, reader client.Reader, object client.Object, now time.Time) []explain.Finding {
	looks := &look{reader: reader, seen: explain.Seen{Now: now, Namespace: object.GetNamespace()}}
	switch of := object.(type) {
	case *sandboxv1beta1.Sandbox:
		looks.sandbox(ctx, of)
		return explain.Sandbox(looks.seen)
	case *extensionsv1beta1.SandboxClaim:
		looks.claim(ctx, of)
		return explain.Claim(looks.seen)
	case *extensionsv1beta1.SandboxWarmPool:
		looks.pool(ctx, of)
		return explain.Pool(looks.seen)
	case *extensionsv1beta1.SandboxTemplate:
		looks.seen.Template = of
		return explain.Template(looks.seen)
	}
	return nil
}

// look gathers what is read.
type look struct {
	reader client.Reader
	seen   explain.Seen
}

// unread keeps an error, but for that of something that does not exist.
func (l *look) unread(err error) {
	if err != nil && !apierrors.IsNotFound(err) {
		l.seen.Unread = append(l.seen.Unread, err.Error())
	}
}

func (l *look) sandbox(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) {
	l.seen.Sandbox = sandbox
	if ready(sandbox.Status.Conditions) && sandbox.DeletionTimestamp == nil {
		return
	}
	pods, err := target.Pods(ctx, l.reader, sandbox)
	l.unread(err)
	l.seen.Pods = pods
	if err == nil && len(pods) == 0 {
		l.foreign(ctx, sandbox)
	}
	l.disks(ctx, sandbox)
	about := []client.Object{sandbox}
	for i := range l.seen.Pods {
		about = append(about, &l.seen.Pods[i])
	}
	for i := range l.seen.Disks {
		about = append(about, &l.seen.Disks[i])
	}
	for _, object := range about {
		l.events(ctx, object)
	}
}

func ready(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, sandboxv1beta1.ConditionReady)
}

// foreign looks for a Pod of the Sandbox's name that is somebody else's.
func (l *look) foreign(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) {
	pod := &corev1.Pod{}
	err := l.reader.Get(ctx, client.ObjectKeyFromObject(sandbox), pod)
	l.unread(err)
	if err == nil && !metav1.IsControlledBy(pod, sandbox) {
		l.seen.Foreign = pod
	}
}

// disks reads the PersistentVolumeClaims of the Sandbox, and the StorageClasses if one of them waits.
func (l *look) disks(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) {
	waiting := false
	for _, template := range sandbox.Spec.VolumeClaimTemplates {
		disk := corev1.PersistentVolumeClaim{}
		err := l.reader.Get(ctx, client.ObjectKey{Namespace: sandbox.Namespace, Name: template.Metadata.Name + "-" + sandbox.Name}, &disk)
		l.unread(err)
		if err == nil && metav1.IsControlledBy(&disk, sandbox) {
			l.seen.Disks = append(l.seen.Disks, disk)
			waiting = waiting || disk.Status.Phase != corev1.ClaimBound
		}
	}
	if !waiting {
		return
	}
	classes := &storagev1.StorageClassList{}
	l.unread(l.list(ctx, classes))
	l.seen.StorageClasses = classes.Items
}

func (l *look) events(ctx context.Context, object client.Object) {
	events := &corev1.EventList{}
	l.unread(l.list(ctx, events, client.InNamespace(object.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(object.GetUID())}))
	l.seen.Events = append(l.seen.Events, events.Items...)
}

func (l *look) list(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := l.reader.List(ctx, list, options...); err != nil {
		return fmt.Errorf("listing as %T: %w", list, err)
	}
	return nil
}

func (l *look) claim(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) {
	l.seen.Claim = claim
	if ready(claim.Status.Conditions) && claim.DeletionTimestamp == nil {
		return
	}
	pool := &extensionsv1beta1.SandboxWarmPool{}
	err := l.reader.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Spec.WarmPoolRef.Name}, pool)
	l.unread(err)
	switch {
	case err == nil:
		l.seen.Pool = pool
		l.template(ctx, pool)
	case apierrors.IsNotFound(err):
		pools := &extensionsv1beta1.SandboxWarmPoolList{}
		l.unread(l.list(ctx, pools, client.InNamespace(claim.Namespace)))
		for i := range pools.Items {
			l.seen.PoolNames = append(l.seen.PoolNames, pools.Items[i].Name)
		}
	}
	sandbox, err := target.Finder{Reader: l.reader, Namespace: claim.Namespace}.Bound(ctx, claim)
	if errors.Is(err, target.ErrNotBound) {
		return
	}
	l.unread(err)
	if err == nil {
		l.sandbox(ctx, sandbox)
	}
}

// template reads that of the pool, or the names of those that there are.
func (l *look) template(ctx context.Context, pool *extensionsv1beta1.SandboxWarmPool) {
	template := &extensionsv1beta1.SandboxTemplate{}
	err := l.reader.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: pool.Spec.SandboxTemplateRef.Name}, template)
	l.unread(err)
	switch {
	case err == nil:
		l.seen.Template = template
	case apierrors.IsNotFound(err):
		templates := &extensionsv1beta1.SandboxTemplateList{}
		l.unread(l.list(ctx, templates, client.InNamespace(pool.Namespace)))
		for i := range templates.Items {
			l.seen.TemplateNames = append(l.seen.TemplateNames, templates.Items[i].Name)
		}
	}
}

// pool reads its template, and the member that is not Ready for longest.
func (l *look) pool(ctx context.Context, pool *extensionsv1beta1.SandboxWarmPool) {
	l.seen.Pool = pool
	l.template(ctx, pool)
	if pool.Status.ReadyReplicas >= explain.Size(pool) {
		return
	}
	members, err := Members(ctx, l.reader, pool)
	l.unread(err)
	members = slices.DeleteFunc(members, func(member sandboxv1beta1.Sandbox) bool { return ready(member.Status.Conditions) })
	if len(members) > 0 {
		oldest := slices.MinFunc(members, func(a, b sandboxv1beta1.Sandbox) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		l.sandbox(ctx, &oldest)
	}
}

// Members returns the Sandboxes that the pool controls.
func Members(ctx context.Context, reader client.Reader, pool *extensionsv1beta1.SandboxWarmPool) ([]sandboxv1beta1.Sandbox, error) {
	list := &sandboxv1beta1.SandboxList{}
	if err := reader.List(ctx, list, client.InNamespace(pool.Namespace), client.HasLabels{sandboxv1beta1.LabelWarmPool}); err != nil {
		return nil, fmt.Errorf("listing the Sandboxes of pool/%s: %w", pool.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(member sandboxv1beta1.Sandbox) bool { return !metav1.IsControlledBy(&member, pool) }), nil
}
