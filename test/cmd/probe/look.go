package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	connectPatience = 2 * time.Second
	getPatience     = 5 * time.Second
	// most is how much of an answer, or of a request, is looked at.
	most = 1 << 20
)

func serve(ctx context.Context, args []string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/echo", echo)
	paths.HandleFunc("/hold", hold)
	paths.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s %s\n", name, r.Method, r.URL)
		_, _ = io.Copy(w, io.LimitReader(r.Body, most))
	})
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: getPatience, Handler: paths}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func write(_ context.Context, args []string) error {
	return os.WriteFile(args[0], []byte(args[1]+"\n"), 0o644)
}

func read(_ context.Context, args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(data)
	return err
}

func host(context.Context, []string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	_, err = fmt.Println(name)
	return err
}

func kernel(ctx context.Context, _ []string) error { return read(ctx, []string{"/proc/version"}) }

func lookup(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, getPatience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Println(strings.Join(addresses, "\n"))
	return err
}

func connect(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Println("connected to", conn.RemoteAddr())
	return errors.Join(err, conn.Close())
}

func get(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, getPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", args[0], response.Status)
	}
	_, err = io.Copy(os.Stdout, io.LimitReader(response.Body, most))
	return err
}
