package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

const (
	// clientsAtOnce ask at the same time, so many times each in a round.
	clientsAtOnce = 50
	asksOfEach    = 40
)

// BenchmarkBesideABareReverseProxy has a bare httputil.ReverseProxy and the router carry the same requests to the same server, in turn,
// and reports what the router reaches of the other: requests a second, and the slowest of a hundred.
func BenchmarkBesideABareReverseProxy(b *testing.B) {
	sandbox := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(writer, `{"stdout":"hello","stderr":"","exit_code":0}`)
	}))
	defer sandbox.Close()
	to, err := url.Parse(sandbox.URL)
	if err != nil {
		b.Fatal(err)
	}
	idle := &http.Transport{MaxIdleConnsPerHost: clientsAtOnce}
	defer idle.CloseIdleConnections()
	bare := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: idle})
	defer bare.Close()
	handler := besideHandler(b)
	defer handler.Close()
	router := httptest.NewServer(handler)
	defer router.Close()
	var bareTook, routerTook time.Duration
	var bareAll, routerAll []time.Duration
	ask(b, bare.URL, to.Port())
	ask(b, router.URL, to.Port())
	for b.Loop() {
		took, each := ask(b, bare.URL, to.Port())
		bareTook, bareAll = bareTook+took, append(bareAll, each...)
		took, each = ask(b, router.URL, to.Port())
		routerTook, routerAll = routerTook+took, append(routerAll, each...)
	}
	b.ReportMetric(float64(len(bareAll))/bareTook.Seconds(), "bare-requests/s")
	b.ReportMetric(float64(len(routerAll))/routerTook.Seconds(), "router-requests/s")
	b.ReportMetric(bareTook.Seconds()/routerTook.Seconds(), "of-bare")
	b.ReportMetric(slowest(routerAll).Seconds()/slowest(bareAll).Seconds(), "p99-of-bare")
}

// besideHandler routes by a Pod that is watched, as the router does by default.
func besideHandler(b *testing.B) *Handler {
	b.Helper()
	index := resolve.NewIndex(clock.RealClock{})
	index.OnAdd(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "box", UID: "pod", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: sandboxv1beta1.GroupVersion.String(), Kind: sandboxv1beta1.SandboxKind, Name: "box", UID: "uid", Controller: ptr.To(true),
		}}},
		Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: here}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}, true)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	options := newSetting().options
	options.Idle = Idle{All: 1000, PerSandbox: 64, Timeout: time.Minute}
	return New(options, resolve.NewWatching(index, nil, "cluster.local"), auth.AllowAll{}, metrics, clock.RealClock{}, logr.Discard())
}

// ask returns how long all requests of a round took, and each of them.
func ask(b *testing.B, address, port string) (time.Duration, []time.Duration) {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: clientsAtOnce}
	defer transport.CloseIdleConnections()
	each := make([][]time.Duration, clientsAtOnce)
	failures := make(chan error, clientsAtOnce)
	var group sync.WaitGroup
	began := time.Now()
	for client := range each {
		group.Go(func() {
			for range asksOfEach {
				at := time.Now()
				if err := askOnce(transport, address, port); err != nil {
					failures <- err
					return
				}
				each[client] = append(each[client], time.Since(at))
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	select {
	case err := <-failures:
		b.Fatal(err)
	default:
	}
	return took, slices.Concat(each...)
}

func askOnce(transport *http.Transport, address, port string) error {
	request, err := http.NewRequest(http.MethodGet, address+"/execute", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set(target.HeaderID, "box")
	request.Header.Set(target.HeaderPort, port)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// slowest of a hundred.
func slowest(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}
