package demo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
)

// makeNamespace makes the demo's namespace, after it removed what a demo that was killed left of it.
func (s *stage) makeNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := s.removeNamespace(ctx, namespace); err != nil {
		return err
	}
	if err := s.client.Create(ctx, namespace.DeepCopy()); err != nil {
		return fmt.Errorf("creating namespace %s: %w", Namespace, err)
	}
	if s.options.Kubeconfig != "" {
		s.undo = append(s.undo, func(ctx context.Context) error { return s.removeNamespace(ctx, namespace) })
	}
	// No Pod is admitted before its ServiceAccount exists.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "default"}}
	_, err := await.Until(ctx, s.client, account, s.options.Timeout, await.Exists[*corev1.ServiceAccount]())
	return err
}

func (s *stage) removeNamespace(ctx context.Context, namespace *corev1.Namespace) error {
	if err := s.client.Delete(ctx, namespace.DeepCopy()); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting namespace %s: %w", Namespace, err)
	}
	return await.Gone(ctx, s.client, namespace, s.options.Timeout)
}
