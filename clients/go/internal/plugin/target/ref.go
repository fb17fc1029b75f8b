package target

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Kind is what a name is of, as users write it.
type Kind string

// The kinds. Any is a bare name: that of a Sandbox, else of a claim.
const (
	Any      Kind = ""
	Sandbox  Kind = "sandbox"
	Claim    Kind = "claim"
	Pool     Kind = "pool"
	Template Kind = "template"
)

// Ref is a name as it was given.
type Ref struct {
	Kind Kind
	Name string
}

// String is the Ref as users write it.
func (r Ref) String() string {
	if r.Kind == Any {
		return r.Name
	}
	return string(r.Kind) + "/" + r.Name
}

// Parse reads KIND/NAME or NAME. KIND is as KindOf takes it.
func Parse(text string) (Ref, error) {
	prefix, name, typed := strings.Cut(text, "/")
	if !typed {
		return Ref{Name: text}, checkName(text, text)
	}
	kind, known := KindOf(prefix)
	if !known {
		return Ref{}, fmt.Errorf("%q: there is no type %q: choose sandbox/NAME, claim/NAME, pool/NAME, template/NAME, or NAME alone", text, prefix)
	}
	return Ref{Kind: kind, Name: name}, checkName(text, name)
}

func checkName(text, name string) error {
	if problems := validation.NameIsDNSSubdomain(name, false); len(problems) > 0 {
		return fmt.Errorf("%q: no object can have the name %q: %s", text, name, problems[0])
	}
	return nil
}

// KindOf reads a kind: in the singular, the plural, as in manifests, and as kubectl knows it.
func KindOf(text string) (Kind, bool) {
	switch word, _, _ := strings.Cut(strings.ToLower(text), "."); word {
	case "sandbox", "sandboxes":
		return Sandbox, true
	case "claim", "claims", "sandboxclaim", "sandboxclaims":
		return Claim, true
	case "pool", "pools", "sandboxwarmpool", "sandboxwarmpools", "swp":
		return Pool, true
	case "template", "templates", "sandboxtemplate", "sandboxtemplates":
		return Template, true
	}
	return Any, false
}

// New makes an empty object of the kind, a Sandbox for Any.
func (k Kind) New() client.Object {
	switch k {
	case Claim:
		return &extensionsv1beta1.SandboxClaim{}
	case Pool:
		return &extensionsv1beta1.SandboxWarmPool{}
	case Template:
		return &extensionsv1beta1.SandboxTemplate{}
	case Any, Sandbox:
	}
	return &sandboxv1beta1.Sandbox{}
}

// NewList makes an empty list of objects of the kind, of Sandboxes for Any.
func (k Kind) NewList() client.ObjectList {
	switch k {
	case Claim:
		return &extensionsv1beta1.SandboxClaimList{}
	case Pool:
		return &extensionsv1beta1.SandboxWarmPoolList{}
	case Template:
		return &extensionsv1beta1.SandboxTemplateList{}
	case Any, Sandbox:
	}
	return &sandboxv1beta1.SandboxList{}
}

// Of names an object as users write it.
func Of(object client.Object) Ref {
	switch object.(type) {
	case *extensionsv1beta1.SandboxClaim:
		return Ref{Claim, object.GetName()}
	case *extensionsv1beta1.SandboxWarmPool:
		return Ref{Pool, object.GetName()}
	case *extensionsv1beta1.SandboxTemplate:
		return Ref{Template, object.GetName()}
	}
	return Ref{Sandbox, object.GetName()}
}
