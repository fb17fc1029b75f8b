package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownGroup ends the API groups of the project.
const ownGroup = "agents.x-k8s.io"

// unreadablePage is how many objects are asked for at a time.
const unreadablePage = 500

// unreadable finds the objects that keep an informer from all of their kind. Admission refuses such objects; one that was stored
// before it did is named in the log, over and over, until somebody mends or deletes it.
type unreadable struct {
	scheme *runtime.Scheme
	// live reads from the API server.
	live client.Reader
	log  logr.Logger
}

// handle is called when a list or a watch of an informer has failed, which pauses between tries by itself.
func (u unreadable) handle(ctx context.Context, reflector *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	if kind, ok := u.kindOf(reflector.TypeDescription()); ok && ctx.Err() == nil && mayBeContent(err) {
		u.name(ctx, kind)
	}
}

// mayBeContent says whether an error may come from what an object holds: it is not the API server's word, and not the connection's.
func mayBeContent(err error) bool {
	_, isStatus := errors.AsType[*apierrors.StatusError](err)
	_, isNetwork := errors.AsType[net.Error](err)
	return !isStatus && !isNetwork && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, context.Canceled)
}

// kindOf finds the kind of the project whose Go type an informer is of.
func (u unreadable) kindOf(goType string) (schema.GroupVersionKind, bool) {
	for kind := range u.scheme.AllKnownTypes() {
		if !strings.HasSuffix(kind.Group, ownGroup) || strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		if obj, err := u.scheme.New(kind); err == nil && fmt.Sprintf("%T", obj) == goType {
			return kind, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// name logs each object of a kind that cannot be read.
func (u unreadable) name(ctx context.Context, kind schema.GroupVersionKind) {
	page := &unstructured.UnstructuredList{}
	page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := u.live.List(ctx, page, client.Limit(unreadablePage), client.Continue(page.GetContinue())); err != nil {
			u.log.Error(err, "Looking for the object that cannot be read", "kind", kind.Kind)
			return
		}
		for i := range page.Items {
			if err := u.read(kind, &page.Items[i]); err != nil {
				u.log.Error(err, "This object cannot be read and keeps all others of its kind from being seen: mend or delete it",
					"kind", kind.Kind, "namespace", page.Items[i].GetNamespace(), "name", page.Items[i].GetName())
			}
		}
		if page.GetContinue() == "" {
			return
		}
	}
}

func (u unreadable) read(kind schema.GroupVersionKind, item *unstructured.Unstructured) error {
	raw, err := item.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	into, err := u.scheme.New(kind)
	if err != nil {
		return fmt.Errorf("making a %s: %w", kind.Kind, err)
	}
	return json.Unmarshal(raw, into)
}
