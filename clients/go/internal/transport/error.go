package transport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxErrorBody bounds how much of an answer that is no success is kept, in bytes.
const maxErrorBody = 64 << 10

// ErrRetriesExhausted says that every attempt failed; the last failure is wrapped beside it.
var ErrRetriesExhausted = errors.New("every attempt failed")

// HTTPError is an answer that is no success, redirects among them.
type HTTPError struct {
	// StatusCode is that of the answer.
	StatusCode int
	// Body is the answer's, cut at 64 KiB.
	Body string
	// Location is where a redirect points, which is not followed.
	Location string
}

// Error implements error.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	if e.Location != "" {
		return fmt.Sprintf("%s to %q: redirects are not followed", text, e.Location)
	}
	if detail := e.detail(); detail != "" {
		text += ": " + detail
	}
	return text
}

// detail is the text of the router, of the daemon or of the older runtime, whichever answered, else the first line.
func (e *HTTPError) detail() string {
	var told struct {
		Detail  string `json:"detail"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(e.Body), &told) != nil || told.Detail == "" && told.Message == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(e.Body), "\n")
		return line
	}
	if told.Code != "" {
		return told.Code + ": " + told.Message
	}
	return told.Detail + told.Message
}

// neverArrived reports whether a router says that it could not reach the sandbox, so that nothing was done there.
func (e *HTTPError) neverArrived() bool {
	return e.StatusCode == http.StatusBadGateway && strings.HasPrefix(e.detail(), "Could not connect to the backend sandbox")
}

// passing reports whether another attempt may succeed.
func (e *HTTPError) passing() bool {
	switch e.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// failure reads an answer that is no success, and closes it.
func failure(answer *http.Response) *HTTPError {
	defer func() { _ = answer.Body.Close() }()
	// What could be read of it is better than nothing.
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
	return &HTTPError{StatusCode: answer.StatusCode, Body: string(body), Location: answer.Header.Get("Location")}
}
