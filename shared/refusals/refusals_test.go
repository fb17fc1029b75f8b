package refusals

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func configMap(namespace string, modify func(*corev1.ConfigMap)) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "box"}}
	modify(obj)
	return obj
}

func named(name string) func(*corev1.ConfigMap) {
	return func(c *corev1.ConfigMap) { c.Name = name }
}

func ofBytes(n int) func(*corev1.ConfigMap) {
	return func(c *corev1.ConfigMap) { c.Data = map[string]string{"all": strings.Repeat("x", n)} }
}

func create(t *testing.T, api client.Client, obj client.Object) {
	t.Helper()
	if err := api.Create(context.Background(), obj); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), obj) })
}

func createOfConfigMaps() admissionregistrationv1.RuleWithOperations {
	return testkit.Operations("configmaps", admissionregistrationv1.Create)
}

// hook sets up a webhook that answers every ConfigMap of a namespace with a status.
func hook(t *testing.T, api client.Client, namespace string, status *metav1.Status) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: status}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	create(t, api, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "deny.example.com", SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: testkit.InNamespace(namespace),
			Rules: []admissionregistrationv1.RuleWithOperations{createOfConfigMaps()},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
		}},
	})
}

// Whether a refusal is for ever is told from what a real API server answers.
func TestIsOfObject(t *testing.T) {
	api, err := client.New(apiServer.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	invalid := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "box", nil).ErrStatus
	invalid.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "data", Message: "wrong"}}
	cases := map[string]struct {
		hindrance func(namespace string)
		modify    func(*corev1.ConfigMap)
		code      int32
		want      bool
	}{
		"an invalid name": {modify: named("Not a name"), code: http.StatusUnprocessableEntity, want: true},
		"no name":         {modify: named(""), code: http.StatusUnprocessableEntity, want: true},
		"too much":        {modify: ofBytes(4 << 20), code: http.StatusRequestEntityTooLarge, want: true},
		"a namespace that is missing": {
			modify: func(c *corev1.ConfigMap) { c.Namespace += "-not" }, code: http.StatusNotFound,
		},
		"a policy": {
			hindrance: func(ns string) {
				testkit.Deny(t, api, ns, createOfConfigMaps(), metav1.StatusReasonInvalid, "not today")
			}, code: http.StatusUnprocessableEntity,
		},
		"a policy about size": {
			hindrance: func(ns string) {
				testkit.Deny(t, api, ns, createOfConfigMaps(), metav1.StatusReasonRequestEntityTooLarge, "not today")
			}, code: http.StatusRequestEntityTooLarge,
		},
		"a webhook that gives no reason": {
			hindrance: func(ns string) { hook(t, api, ns, nil) }, code: http.StatusBadRequest,
		},
		"a webhook that answers as the API server does": {
			hindrance: func(ns string) { hook(t, api, ns, &invalid) }, code: http.StatusUnprocessableEntity,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := testkit.Namespace(t, api)
			if tc.hindrance != nil {
				tc.hindrance(namespace)
			}
			if tc.modify == nil {
				tc.modify = named("box")
			}
			var refused error
			testkit.Eventually(t, "a refusal", func() error {
				obj := configMap(namespace, tc.modify)
				if refused = api.Create(context.Background(), obj); refused == nil {
					_ = api.Delete(context.Background(), obj)
					return fmt.Errorf("it was taken")
				}
				return nil
			})
			status, ok := errors.AsType[*apierrors.StatusError](refused)
			if !ok || status.Status().Code != tc.code {
				t.Errorf("want the code %d, got %v", tc.code, refused)
			}
			if got := IsOfObject(fmt.Errorf("creating: %w", refused)); got != tc.want {
				t.Errorf("IsOfObject = %v, want %v: %#v", got, tc.want, status.Status())
			}
		})
	}
}

func TestIsNamespaceGoing(t *testing.T) {
	api, err := client.New(apiServer.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := testkit.Namespace(t, api)
	if err := api.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	refused := api.Create(context.Background(), configMap(namespace, named("box")))
	if !IsNamespaceGoing(fmt.Errorf("creating: %w", refused)) {
		t.Errorf("the namespace is going: %v", refused)
	}
	if missing := api.Create(context.Background(), configMap(namespace+"-not", named("box"))); missing == nil || IsNamespaceGoing(missing) {
		t.Errorf("there is no such namespace: %v", missing)
	}
}
