package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// waitReady returns when the server reports ready and has made the objects
// that every cluster has. It fails when ctx or the server ends before.
func (s *apiServer) waitReady(ctx context.Context, endpoint *endpoint) error {
	client, err := kubernetes.NewForConfig(endpoint.restConfig(userAdmin, "cluster"))
	if err != nil {
		return err
	}
	for {
		err := checkReady(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("the API server stopped while starting: %w", s.failure())
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready in time: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// checkReady returns nil if a client of any kind can start working.
func checkReady(ctx context.Context, client kubernetes.Interface) error {
	// A server that is not up yet may take the connection and never answer.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}
