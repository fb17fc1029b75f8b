package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// pause also reaps what ends in a Pod whose containers share their processes.
func pause(ctx context.Context, _ []string) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			reap()
		}
	}
}

func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func wait(ctx context.Context, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func ignore(ctx context.Context, args []string) error { return wait(context.WithoutCancel(ctx), args) }

func exit(_ context.Context, args []string) error {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	os.Exit(code)
	return nil
}

func allocate(ctx context.Context, args []string) error {
	const mib, page = 1 << 20, 4096
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var held [][]byte
	for range n {
		block := make([]byte, mib)
		for i := 0; i < mib; i += page {
			block[i] = 1
		}
		held = append(held, block)
	}
	fmt.Println("holding", len(held), "MiB")
	<-ctx.Done()
	return nil
}
