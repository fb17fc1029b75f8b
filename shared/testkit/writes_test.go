package testkit

import "testing"

func TestResource(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/ns/pods":                                     "pods",
		"/api/v1/namespaces/ns/pods/a":                                   "pods",
		"/apis/agents.x-k8s.io/v1beta1/namespaces/ns/sandboxes/a/status": "sandboxes/status",
		"/api/v1/namespaces/ns":                                          "/api/v1/namespaces/ns",
		"/apis/authentication.k8s.io/v1/tokenreviews":                    "/apis/authentication.k8s.io/v1/tokenreviews",
	} {
		if got := resource(path); got != want {
			t.Errorf("resource(%s) = %s, want %s", path, got, want)
		}
	}
}
