package testkit

import (
	"bufio"
	"net/http"
	"testing"
)

// ReadHead reads the head of an answer from a connection, and leaves what follows an upgrade to the caller.
func ReadHead(t testing.TB, reader *bufio.Reader) (status int, header http.Header) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, response.Header
}
