package controllers

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// handover is one way to write that a Sandbox changes hands.
type handover struct {
	kind types.PatchType
	body func(b *testing.B, box *sandboxv1beta1.Sandbox, to metav1.OwnerReference) []byte
	took time.Duration
}

func encode(b *testing.B, patch any) []byte {
	b.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// handovers are the two that the protocol could use: a JSON patch that tests what it rests on, which no write of a status disturbs,
// and a merge patch at a resourceVersion, which every write disturbs.
func handovers() map[string]*handover {
	return map[string]*handover{
		"json": {kind: types.JSONPatchType, body: func(b *testing.B, box *sandboxv1beta1.Sandbox, to metav1.OwnerReference) []byte {
			return encode(b, []apply.Operation{
				apply.Test("/metadata/uid", box.UID), apply.Test("/metadata/ownerReferences/0/uid", box.OwnerReferences[0].UID),
				apply.Test("/metadata/deletionTimestamp", nil), apply.Replace("/metadata/ownerReferences/0", to),
				apply.Set(apply.Key("/metadata/labels", sandboxv1beta1.LabelClaimUID), string(to.UID)),
			})
		}},
		"merge": {kind: types.MergePatchType, body: func(b *testing.B, box *sandboxv1beta1.Sandbox, to metav1.OwnerReference) []byte {
			return encode(b, map[string]any{"metadata": apply.Metadata{
				UID: box.UID, ResourceVersion: box.ResourceVersion, OwnerReferences: []metav1.OwnerReference{to},
				Labels: map[string]*string{sandboxv1beta1.LabelClaimUID: ptr.To(string(to.UID))},
			}})
		}},
	}
}

// BenchmarkHandover compares the two in turn, on one object each.
func BenchmarkHandover(b *testing.B) {
	ctx := context.Background()
	user, err := client.New(apiServer.Config, client.Options{Scheme: testScheme(b)})
	if err != nil {
		b.Fatal(err)
	}
	namespace := testkit.Namespace(b, user)
	boxes := map[string]*sandboxv1beta1.Sandbox{}
	ways := handovers()
	for name := range ways {
		box := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"tier": "one"}}}
		box.OwnerReferences = []metav1.OwnerReference{ownerOfUID("first")}
		box.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
		if err := user.Create(ctx, box); err != nil {
			b.Fatal(err)
		}
		boxes[name] = box
	}
	owners := []metav1.OwnerReference{ownerOfUID("second"), ownerOfUID("first")}
	turn := 0
	for b.Loop() {
		for name, way := range ways {
			body := way.body(b, boxes[name], owners[turn%2])
			begin := time.Now()
			if err := user.Patch(ctx, boxes[name], client.RawPatch(way.kind, body)); err != nil {
				b.Fatal(err)
			}
			way.took += time.Since(begin)
		}
		turn++
	}
	for name, way := range ways {
		b.ReportMetric(float64(way.took.Microseconds())/float64(turn), name+"-µs/op")
	}
}

func ownerOfUID(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Owner", Name: string(uid), UID: uid, Controller: ptr.To(true)}
}
