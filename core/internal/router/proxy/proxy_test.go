package proxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// A9.1: the query is kept. A9.2: the path is what it was, escaped slashes too.
func TestASandboxSeesThePathThatWasAskedFor(t *testing.T) {
	for name, test := range map[string]struct{ asked, want string }{
		"a query":                           {"/x?a=1&b=2", "/x?a=1&b=2"},
		"a query that makes no sense to us": {"/x?a=1;b=%zz&&c", "/x?a=1;b=%zz&&c"},
		"a question mark alone":             {"/x?", "/x?"},
		"an escaped slash":                  {"/files/a%2Fb", "/files/a%2Fb"},
		"an escaped letter":                 {"/files/%41", "/files/%41"},
		"a slash twice":                     {"//files//a", "//files//a"},
		"dots":                              {"/files/../a/./b", "/files/../a/./b"},
		"a probe's path, where a sandbox is named": {"/healthz", "/healthz"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
				_, _ = io.WriteString(writer, request.RequestURI)
			}))
			_, reader := r.dial(t, "GET "+test.asked+" HTTP/1.1", "Connection: close")
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if got, err := io.ReadAll(response.Body); err != nil || string(got) != test.want {
				t.Errorf("%v, the sandbox saw %q, want %q", err, got, test.want)
			}
		})
	}
}

func TestASandboxSeesTheHeadersThatAreItsBusiness(t *testing.T) {
	seen := make(chan *http.Request, 1)
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		seen <- request.Clone(context.Background())
		writer.Header().Set("Connection", "X-Hop")
		writer.Header().Set("X-Hop", "of this connection alone")
	}))
	request := r.request(t, http.MethodPost, "/x", strings.NewReader("body"))
	request.Host = "router.example"
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "X-Forwarded-For": "1.2.3.4", "X-Forwarded-Host": "forged", "Forwarded": "for=1.2.3.4", "X-Sandbox-Timeout": "60",
		"X-Request-ID": "r1", "Origin": "https://example.com", "Cookie": "a=b", "X-Anything": "else", "User-Agent": "test",
	} {
		request.Header.Set(name, value)
	}
	answer := r.do(t, request)
	got := <-seen
	if !strings.HasPrefix(got.Host, here+":") {
		t.Errorf("host %q", got.Host)
	}
	for name, want := range map[string]string{
		"Authorization": "", "Forwarded": "", "X-Forwarded-For": here, "X-Forwarded-Host": "router.example", "X-Forwarded-Proto": "http", "X-Sandbox-Timeout": "60",
		"X-Request-ID": "r1", "Origin": "https://example.com", "Cookie": "a=b", "X-Anything": "else", "User-Agent": "test", target.HeaderID: "box",
		"Accept-Encoding": "gzip", "Content-Length": "4",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if answer.header.Get("X-Hop") != "" {
		t.Error("a header of the connection to the sandbox reached the client")
	}
}

// A9.4: a body is passed on while it comes.
func TestABodyStreams(t *testing.T) {
	arrived := make(chan string)
	r := newSetting().route(t, http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		lines := bufio.NewReader(request.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				close(arrived)
				return
			}
			arrived <- line
		}
	}))
	body, client := io.Pipe()
	done := make(chan told, 1)
	request := r.request(t, http.MethodPut, "/upload", body)
	go func() { done <- r.do(t, request) }()
	for _, line := range []string{"first\n", "second\n"} {
		if _, err := io.WriteString(client, line); err != nil {
			t.Fatal(err)
		}
		// The rest of the body is not there yet.
		if got := <-arrived; got != line {
			t.Errorf("the sandbox read %q, want %q", got, line)
		}
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if _, more := <-arrived; more {
		t.Error("the body does not end")
	}
	if answer := <-done; answer.status != http.StatusOK {
		t.Errorf("answered %d: %s", answer.status, answer.body)
	}
}

// A sandbox may answer while it is still told something.
func TestBothDirectionsStreamAtOnce(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		control := http.NewResponseController(writer)
		_ = control.EnableFullDuplex()
		lines := bufio.NewReader(request.Body)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
			_, _ = io.WriteString(writer, line)
			_ = control.Flush()
		}
	}))
	connection, reader := r.dial(t, "POST /talk HTTP/1.1", "Transfer-Encoding: chunked")
	if _, err := io.WriteString(connection, "4\r\none\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	back := bufio.NewReader(response.Body)
	if line, err := back.ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("%v, got %q", err, line)
	}
	if _, err := io.WriteString(connection, "4\r\ntwo\n\r\n0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(back); err != nil || string(rest) != "two\n" {
		t.Errorf("%v, got %q", err, rest)
	}
}

// A9.5: an upgraded connection is relayed; its handshake carries no Origin, which the sandbox would compare with its own host.
func TestAnUpgradedConnectionIsRelayed(t *testing.T) {
	origins := make(chan string, 1)
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		origins <- request.Header.Get("Origin")
		echo(writer, request)
	}))
	connection, reader := r.upgrade(t, "Origin: https://router.example")
	if origin := <-origins; origin != "" {
		t.Errorf("the sandbox saw Origin %q", origin)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if got, err := says(connection, reader, line); err != nil || got != line {
			t.Errorf("%v, came back %q, want %q", err, got, line)
		}
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.handler.Idle(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnUpgradeThatNobodyAskedForIsAnError(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(echo))
	answer := r.do(t, r.request(t, http.MethodGet, "/", nil))
	if detail := answer.detail(t); answer.status != http.StatusBadGateway || detail != "The connection to the backend sandbox broke: box" {
		t.Errorf("answered %d %q", answer.status, detail)
	}
}

// gRPC: HTTP/2 without TLS on either side, streams in both directions at once, and trailers.
func TestGRPCPasses(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.ProtoMajor != 2 || request.Header.Get("Te") != "trailers" {
			http.Error(writer, "HTTP/2 with trailers is needed, and this is "+request.Proto, http.StatusHTTPVersionNotSupported)
			return
		}
		writer.Header().Set("Content-Type", "application/grpc")
		writer.Header().Set("Trailer", "Grpc-Status")
		lines := bufio.NewReader(request.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = io.WriteString(writer, line)
			_ = http.NewResponseController(writer).Flush()
		}
		writer.Header().Set("Grpc-Status", "0")
	}))
	framed := &http.Transport{Protocols: new(http.Protocols)}
	framed.Protocols.SetUnencryptedHTTP2(true)
	defer framed.CloseIdleConnections()
	body, client := io.Pipe()
	request := r.request(t, http.MethodPost, "/process.v1.ProcessService/Start", body)
	request.Header.Set("Content-Type", "application/grpc+proto")
	request.Header.Set("Te", "trailers")
	go func() { _, _ = io.WriteString(client, "one\n") }()
	response, err := framed.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	back := bufio.NewReader(response.Body)
	if line, err := back.ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("%v, %s, got %q", err, response.Status, line)
	}
	if _, err := io.WriteString(client, "two\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := back.ReadString('\n'); err != nil || line != "two\n" {
		t.Fatalf("%v, got %q", err, line)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(back); err != nil {
		t.Fatal(err)
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" {
		t.Errorf("trailers %v", response.Trailer)
	}
}

func TestGRPCIsToldFromGRPCWeb(t *testing.T) {
	for contentType, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "application/grpc; charset=x": true,
		"application/grpc-web": false, "application/grpc-web+proto": false, "application/json": false, "": false,
	} {
		if got := isGRPC(contentType); got != want {
			t.Errorf("%q: %t, want %t", contentType, got, want)
		}
	}
}

func TestAPathThatNamesASandbox(t *testing.T) {
	s := newSetting(func(s *setting) { s.options.Rules.PathPrefix = "/sandboxes" })
	r := s.route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("Location", "/login?next=%2F")
		writer.Header().Add("Set-Cookie", "a=b; Path=/; HttpOnly")
		writer.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(writer, request.RequestURI+" "+request.Header.Get("X-Forwarded-Prefix"))
	}))
	base := "/sandboxes/team-a/box/" + r.backendPort
	answer := r.do(t, r.request(t, http.MethodGet, base+"/a%2Fb?c=d", nil))
	got := []string{answer.body, answer.header.Get("Location"), answer.header.Get("Set-Cookie")}
	want := []string{"/a%2Fb?c=d " + base, base + "/login?next=%2F", "a=b; Path=" + base + "/; HttpOnly"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("%d: path, redirect and cookie (-want +got):\n%s", answer.status, difference)
	}
	// A malformed path is one though the headers name a sandbox.
	if malformed := r.do(t, r.request(t, http.MethodGet, "/sandboxes/team-a/box", nil)); malformed.status != http.StatusBadRequest || malformed.detail(t) != target.DetailPath {
		t.Errorf("a malformed path: %d %s", malformed.status, malformed.body)
	}
}

func TestRedirectsStayBelowTheSandbox(t *testing.T) {
	x := &exchange{inHost: "router.example"}
	x.endpoint.Host = "10.0.0.7"
	x.wanted.Port, x.wanted.Base = 80, "/s/ns/box/80"
	for location, want := range map[string]string{
		"/a":                            "/s/ns/box/80/a",
		"/a%2Fb?c=d#e":                  "/s/ns/box/80/a%2Fb?c=d#e",
		"/s/ns/box/80/a":                "/s/ns/box/80/a",
		"/s/ns/box/8080":                "/s/ns/box/80/s/ns/box/8080",
		"http://10.0.0.7:80/a":          "/s/ns/box/80/a",
		"http://10.0.0.7:80":            "/s/ns/box/80/",
		"https://router.example/a?b":    "/s/ns/box/80/a?b",
		"https://ROUTER.example/a":      "/s/ns/box/80/a",
		"//router.example/a":            "/s/ns/box/80/a",
		"https://elsewhere.example/a":   "https://elsewhere.example/a",
		"//elsewhere.example/a":         "//elsewhere.example/a",
		"a/b":                           "a/b",
		"?page=2":                       "?page=2",
		"mailto:somebody@example.com":   "mailto:somebody@example.com",
		"http://10.0.0.7:81/of/another": "http://10.0.0.7:81/of/another",
		"://no url":                     "://no url",
	} {
		if got := x.below(location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

func TestCookiesStayBelowTheSandbox(t *testing.T) {
	for cookie, want := range map[string]string{
		"a=b":                           "a=b",
		"a=b; Path=/":                   "a=b; Path=/s/",
		"a=b; path=/x; Secure":          "a=b; Path=/s/x; Secure",
		"a=b; Path=/s/x":                "a=b; Path=/s/x",
		"Path=/; Path=/y; Max-Age=1":    "Path=/; Path=/s/y; Max-Age=1",
		"a=b; Path=relative; SameSite=": "a=b; Path=relative; SameSite=",
	} {
		if got := cookieBelow("/s", cookie); got != want {
			t.Errorf("%s: %s, want %s", cookie, got, want)
		}
	}
}

func TestWhatIsCompressedStaysSo(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(writer, "not even gzip")
	}))
	request := r.request(t, http.MethodGet, "/", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	if answer := r.do(t, request); answer.body != "not even gzip" || answer.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("got %q as %q", answer.body, answer.header.Get("Content-Encoding"))
	}
}
