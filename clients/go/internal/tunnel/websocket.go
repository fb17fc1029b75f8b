package tunnel

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	constants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// webSocket dials as client-go's own dialer does, and besides gives up when the context ends under which the tunnel is opened: the
// handshake with a server that accepts and never answers would last for ever.
type webSocket struct {
	opening context.Context
	config  *rest.Config
	target  *url.URL
}

// Dial implements httpstream.Dialer.
func (w webSocket) Dial(protocols ...string) (httpstream.Connection, string, error) {
	transport, holder, err := websocket.RoundTripperFor(w.config)
	if err != nil {
		return nil, "", fmt.Errorf("preparing a WebSocket: %w", err)
	}
	release := func() bool { return true }
	ctx := httptrace.WithClientTrace(w.opening, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		release = context.AfterFunc(w.opening, func() { _ = got.Conn.Close() })
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.target.String(), http.NoBody)
	if err != nil {
		return nil, "", err
	}
	tunnelled := make([]string, 0, len(protocols))
	for _, protocol := range protocols {
		tunnelled = append(tunnelled, constants.WebsocketsSPDYTunnelingPrefix+protocol)
	}
	conn, err := websocket.Negotiate(transport, holder, request, tunnelled...)
	release()
	if err != nil {
		return nil, "", err
	}
	streams, err := spdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("client", conn), portforward.PingPeriod)
	if err != nil {
		return nil, "", fmt.Errorf("opening streams: %w", err)
	}
	return streams, strings.TrimPrefix(conn.Subprotocol(), constants.WebsocketsSPDYTunnelingPrefix), nil
}
