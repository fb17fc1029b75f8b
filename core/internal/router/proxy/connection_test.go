package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// slowBelow is a sandbox that answers all but what lies below /hang.
func slowBelow(_ http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	if request.URL.Path == "/hang" {
		<-request.Context().Done()
	}
}

// A connection whose reading was ended serves no further request: one that came on it would be answered without having been carried out.
func TestWhetherAConnectionOutlivesATimeout(t *testing.T) {
	for method, ends := range map[string]bool{http.MethodGet: false, http.MethodPost: true} {
		t.Run(method, func(t *testing.T) {
			r := newSetting().route(t, http.HandlerFunc(slowBelow))
			line, body := "Accept: */*", ""
			if method == http.MethodPost {
				line, body = "Content-Length: 4", "body"
			}
			connection, reader := r.dial(t, method+" /hang HTTP/1.1", headerTimeout+": 0.05", line)
			if _, err := io.WriteString(connection, body); err != nil {
				t.Fatal(err)
			}
			if status, closes := answered(t, reader); status != http.StatusGatewayTimeout || closes != ends {
				t.Errorf("answered %d, and the connection ends: %t", status, closes)
			}
			if ends {
				if err := connection.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
					t.Fatal(err)
				}
				if _, err := reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection did not end: %v", err)
				}
				return
			}
			r.send(t, connection, "PUT / HTTP/1.1", "Content-Length: 4", "", "next")
			if status, _ := answered(t, reader); status != http.StatusOK {
				t.Errorf("the next request is answered %d", status)
			}
		})
	}
}

// answered reads an answer to its end, and says whether the connection ends with it.
func answered(t *testing.T, reader *bufio.Reader) (int, bool) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	return response.StatusCode, response.Close
}

// Calls that their clients give up end alone: the connection of HTTP/2 that they came by, and the router, serve others.
func TestCallsThatAreGivenUpEndAlone(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(slowBelow))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer client.CloseIdleConnections()
	for i := range 200 {
		body, unwritten := io.Pipe()
		request := r.request(t, http.MethodPost, "/hang", body)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*time.Millisecond/2)
		response, err := client.Do(request.WithContext(ctx))
		if err == nil {
			_ = response.Body.Close()
			t.Errorf("answered %s", response.Status)
		}
		cancel()
		_ = unwritten.Close()
	}
	response, err := client.Do(r.request(t, http.MethodPost, "/", strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Errorf("answered %s", response.Status)
	}
}

// Silence would be made an answer by the server: 200, of a request that was not carried out.
func TestAClientThatHasGoneIsToldNothing(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(slowBelow))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	written := httptest.NewRecorder()
	defer func() {
		if ended := recover(); ended != http.ErrAbortHandler || written.Flushed || written.Body.Len() > 0 { //nolint:errorlint // It is what net/http compares.
			t.Errorf("ended with %v, answered %d %q", ended, written.Code, written.Body)
		}
	}()
	r.handler.ServeHTTP(written, r.request(t, http.MethodGet, "/", nil).WithContext(ctx))
}
