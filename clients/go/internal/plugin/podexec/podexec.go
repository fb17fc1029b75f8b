// Package podexec runs commands in containers of Pods through the API server, over a WebSocket, or SPDY where that is not understood.
package podexec

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubectl/pkg/util/interrupt"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/streaming/pkg/httpstream"
)

// Container is where a command runs.
type Container struct {
	// Config reaches the API server; it needs the right to create pods/exec.
	Config *rest.Config
	Core   corev1client.CoreV1Interface
	// Namespace, Pod and Name of it.
	Namespace, Pod, Name string
}

// Streams are those of a command. A nil one is not there.
type Streams struct {
	In          io.Reader
	Out, ErrOut io.Writer
}

// Run runs a command until it ends. Another exit code than 0 is an exec.CodeExitError of client-go.
func (c Container) Run(ctx context.Context, command []string, s Streams) error {
	return c.stream(ctx, command, remotecommand.StreamOptions{Stdin: s.In, Stdout: s.Out, Stderr: s.ErrOut})
}

// RunInTerminal is Run on a terminal, which In has to be: what is typed goes there as it is, and the size of the terminal with it.
func (c Container) RunInTerminal(ctx context.Context, command []string, s Streams) error {
	// The context ends the command on a signal; the terminal is only put in order.
	tty := term.TTY{In: s.In, Out: s.Out, Raw: true, Parent: interrupt.New(func(os.Signal) {})}
	options := remotecommand.StreamOptions{Stdin: s.In, Stdout: s.Out, Tty: true}
	if queue := tty.MonitorSize(tty.GetSize()); queue != nil {
		options.TerminalSizeQueue = sizes{queue}
	}
	return tty.Safe(func() error { return c.stream(ctx, command, options) })
}

func (c Container) stream(ctx context.Context, command []string, options remotecommand.StreamOptions) error {
	request := c.Core.RESTClient().Post().Resource("pods").Namespace(c.Namespace).Name(c.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: c.Name, Command: command, TTY: options.Tty,
			Stdin: options.Stdin != nil, Stdout: options.Stdout != nil, Stderr: options.Stderr != nil,
		}, scheme.ParameterCodec)
	webSocket, err := remotecommand.NewWebSocketExecutor(c.Config, http.MethodGet, request.URL().String())
	if err != nil {
		return fmt.Errorf("preparing a command in Pod %s: %w", c.Pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.Config, http.MethodPost, request.URL())
	if err != nil {
		return fmt.Errorf("preparing a command in Pod %s: %w", c.Pod, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(webSocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return fmt.Errorf("preparing a command in Pod %s: %w", c.Pod, err)
	}
	if err := executor.StreamWithContext(ctx, options); err != nil {
		return fmt.Errorf("running %q in container %s of Pod %s: %w", command[0], c.Name, c.Pod, err)
	}
	return nil
}

// sizes passes on the sizes of a terminal.
type sizes struct{ queue term.TerminalSizeQueue }

// Next implements remotecommand.TerminalSizeQueue.
func (s sizes) Next() *remotecommand.TerminalSize {
	size := s.queue.Next()
	if size == nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
}
