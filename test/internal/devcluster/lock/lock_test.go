package lock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestAcquireWaitsForTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "lock")
	first, err := Acquire(t.Context(), path, func() { t.Error("the first caller must not wait") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := Acquire(t.Context(), path, func() { close(waiting) })
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	<-waiting
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("second caller: %v", err)
	}
}

func TestAcquireGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Acquire(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Release() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire = %v, want the context's error", err)
	}
}

func TestOneWhoWaitedDoesNotGetARemovedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Acquire(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	got := make(chan bool, 1)
	go func() {
		second, err := Acquire(t.Context(), path, func() { close(waiting) })
		got <- err == nil && stillAt(second.file, path) && second.Release() == nil
	}()
	<-waiting
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if !<-got {
		t.Error("the second caller holds a file that is no longer at the path")
	}
}
