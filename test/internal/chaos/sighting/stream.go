package sighting

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// again is the pause before a watch that ended goes on.
	again = 100 * time.Millisecond
	// patience bounds how long a list may take, and how long a watch may take to begin: an API server that is just starting may keep
	// a request for a minute.
	patience = 5 * time.Second
)

// stream follows the objects of one kind.
type stream struct {
	client    client.WithWatch
	namespace string
	kind      client.ObjectList
	number    int
	order     *order
	known     map[string]client.Object
	// version is where a watch goes on; 0: nowhere, all must be listed.
	version uint64
	// last is the last version that is known of.
	last uint64
}

// run follows the objects until ctx ends. A watch that ends goes on from its last version; where that is too old, what a list
// shows to be different is told as unseen.
func (s *stream) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.follow(ctx); isTooOld(err) {
			s.version = 0
		}
		s.order.disconnect(s.number)
		pause(ctx, again)
	}
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func isTooOld(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// follow is one watch.
func (s *stream) follow(ctx context.Context) error {
	if s.version == 0 {
		if err := s.list(ctx); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	slow := time.AfterFunc(patience, end)
	events, err := s.client.Watch(ctx, s.newList(), client.InNamespace(s.namespace), &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: strconv.FormatUint(s.version, 10), AllowWatchBookmarks: true,
	}})
	slow.Stop()
	if err != nil {
		return err
	}
	defer events.Stop()
	s.order.connect(s.number, time.Now())
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		if err := s.see(event); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) newList() client.ObjectList {
	return s.kind.DeepCopyObject().(client.ObjectList)
}

// see takes in what a watch tells.
func (s *stream) see(event watch.Event) error {
	object, ok := event.Object.(client.Object)
	if !ok {
		return fmt.Errorf("a watch told of a %T", event.Object)
	}
	version, err := versionOf(object)
	if err != nil {
		return err
	}
	change := Change{Before: s.known[object.GetName()], After: object, Version: version, Seen: time.Now()}
	switch event.Type {
	case watch.Added, watch.Modified:
		s.known[object.GetName()] = object
		s.order.add(change)
	case watch.Deleted:
		delete(s.known, object.GetName())
		change.Before, change.After = object, nil
		s.order.add(change)
	}
	s.version, s.last = version, version
	s.order.reach(s.number, version)
	return nil
}

// list compares what there is with what is known. The first list tells what was there before.
func (s *stream) list(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	list := s.newList()
	if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	version, err := strconv.ParseUint(list.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("version of a list: %w", err)
	}
	now, err := itemsByName(list)
	if err != nil {
		return err
	}
	changes, err := s.compare(now)
	if err != nil {
		return err
	}
	s.order.add(changes...)
	s.known, s.version, s.last = now, version, version
	s.order.reach(s.number, version)
	return nil
}

func itemsByName(list client.ObjectList) (map[string]client.Object, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	byName := map[string]client.Object{}
	for _, item := range items {
		if object, ok := item.(client.Object); ok {
			byName[object.GetName()] = object
		}
	}
	return byName, nil
}

// compare returns what is different from what is known.
func (s *stream) compare(now map[string]client.Object) ([]Change, error) {
	var changes []Change
	unseen := s.last > 0
	for name, before := range s.known {
		if after := now[name]; after == nil || after.GetUID() != before.GetUID() {
			changes = append(changes, Change{Before: before, Version: s.last, Seen: time.Now(), Unseen: unseen})
		}
	}
	for name, after := range now {
		before := s.known[name]
		if before != nil && before.GetUID() == after.GetUID() && before.GetResourceVersion() == after.GetResourceVersion() {
			continue
		}
		if before != nil && before.GetUID() != after.GetUID() {
			before = nil
		}
		version, err := versionOf(after)
		if err != nil {
			return nil, err
		}
		changes = append(changes, Change{Before: before, After: after, Version: version, Seen: time.Now(), Unseen: unseen})
	}
	return changes, nil
}

func versionOf(object client.Object) (uint64, error) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("version of %s: %w", object.GetName(), err)
	}
	return version, nil
}
