package sim

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
)

// mutant is a way in which the controllers could be wrong. Its zero value is none.
type mutant struct {
	// sees changes what is read.
	sees func(*process, client.Object)
	// patches and deletes change what is written.
	patches func(*process, *patch)
	deletes func(*run, *client.DeleteOptions)
	// members changes what happens to those that are handed out.
	members func(controllers.Members) controllers.Members
	// unsynced reads do not wait for the process's own writes.
	unsynced bool
}

// operation is one of a JSON patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// without takes operations out of a JSON patch.
func without(body []byte, drop func(operation) bool) []byte {
	var operations, kept []operation
	if json.Unmarshal(body, &operations) != nil {
		return body
	}
	for _, o := range operations {
		if !drop(o) {
			kept = append(kept, o)
		}
	}
	changed, err := json.Marshal(kept)
	if err != nil {
		return body
	}
	return changed
}

func isCommit(p *patch) bool {
	return p.kind == sandboxKind && p.of == types.JSONPatchType && !p.status && bytes.Contains(p.body, []byte("/metadata/ownerReferences/"))
}

func commitBlindly(_ *process, p *patch) {
	if isCommit(p) {
		p.body = without(p.body, func(o operation) bool { return o.Op == "test" })
	}
}

func publishBlindly(_ *process, p *patch) {
	if p.kind == claimKind && p.status {
		p.body = without(p.body, func(o operation) bool { return o.Path == "/metadata/resourceVersion" })
	}
}

func deleteMembersBlindly(of *run, options *client.DeleteOptions) {
	if of != nil && of.queue.name == "pools" && options.Preconditions != nil {
		options.Preconditions = &metav1.Preconditions{UID: options.Preconditions.UID}
	}
}

// generous gives a member back as soon as it is taken.
type generous struct{ controllers.Members }

// Written gives it back.
func (g generous) Written(uid types.UID, _ string) { g.Return(uid) }

// discardSilently leaves the word out that a claim gives before its Sandbox is deleted: what is written instead changes nothing.
func discardSilently(_ *process, p *patch) {
	if p.kind == claimKind && p.of == types.MergePatchType && bytes.Contains(p.body, []byte(extensionsv1beta1.AnnotationDiscarding)) {
		p.body = []byte("{}")
	}
}

// seeNoEnd hides from the extensions that a Sandbox is on its way out.
func seeNoEnd(p *process, obj client.Object) {
	if _, ok := obj.(*sandboxv1beta1.Sandbox); ok && p.role == extensions {
		obj.SetDeletionTimestamp(nil)
	}
}

// commitByMerge writes all owners anew, with the same preconditions.
func commitByMerge(p *process, wanted *patch) {
	if !isCommit(wanted) {
		return
	}
	sandbox, _ := p.caches[sandboxKind].objects[wanted.name].(*sandboxv1beta1.Sandbox)
	var operations []operation
	if sandbox == nil || json.Unmarshal(wanted.body, &operations) != nil {
		return
	}
	for _, o := range operations {
		if o.Op == "replace" && strings.HasPrefix(o.Path, "/metadata/ownerReferences/") {
			wanted.of = types.MergePatchType
			wanted.body = []byte(`{"metadata":{"uid":"` + string(sandbox.UID) + `","resourceVersion":"` + sandbox.ResourceVersion +
				`","ownerReferences":[` + string(o.Value) + `]}}`)
		}
	}
}

// fault is a mutant that a schedule must catch, by the words in what it breaks.
type fault struct {
	mutant mutant
	breaks string
}

func mutants() map[string]fault {
	return map[string]fault{
		"no precondition on commit":                 {mutant{patches: commitBlindly}, "changes hands|is taken on its way out"},
		"none on publish":                           {mutant{patches: publishBlindly}, "changes its Sandbox|will delete"},
		"resourceVersion dropped from pool deletes": {mutant{deletes: deleteMembersBlindly}, "has published"},
		"reservation freed at commit":               {mutant{members: func(m controllers.Members) controllers.Members { return generous{m} }}, "hands out"},
		"read-your-own-writes gate off":             {mutant{unsynced: true}, "more than"},
		"discard without fence":                     {mutant{patches: discardSilently}, "has published"},
		"terminating Sandbox published":             {mutant{sees: seeNoEnd}, "on its way out"},
		"merge patch that drops other owners":       {mutant{patches: commitByMerge}, "loses its owner"},
	}
}
