package devcluster

import (
	"context"
	"fmt"
	"net/http"
)

// probe returns nil if the URL answers 200. An empty URL is always well.
func probe(ctx context.Context, client *http.Client, url string) error {
	if url == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
