package usage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestOfThisProcess(t *testing.T) {
	used, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const least = 1 << 20
	if used.PeakSize < least {
		t.Errorf("peak size %d bytes, want more than %d", used.PeakSize, least)
	}
	if used.CPU < 0 {
		t.Errorf("CPU time %s", used.CPU)
	}
}

func TestOfNoProcess(t *testing.T) {
	if _, err := Of(1 << 30); err == nil || !strings.Contains(err.Error(), "1073741824") {
		t.Errorf("err = %v, want one that names the process", err)
	}
}

func TestReconciles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="sandbox",result="success"} 7
controller_runtime_reconcile_total{controller="sandbox",result="requeue_after"} 2
controller_runtime_reconcile_total{controller="claim",result="success"} 100
`)
	}))
	defer server.Close()
	for _, tt := range []struct {
		name, path, controller string
		want                   float64
		fails                  bool
	}{
		{"all results of one controller", "/metrics", "sandbox", 9, false},
		{"a controller that has done nothing", "/metrics", "pool", 0, false},
		{"no metrics there", "/", "sandbox", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Reconciles(t.Context(), server.URL+tt.path, tt.controller)
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
