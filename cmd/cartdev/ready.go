//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// waitReady returns when the URL answers 200, or says why it will not.
func (c *children) waitReady(ctx context.Context, url string) error {
	// No proxy: the server is on this machine, and a proxy may not be.
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	tooLate := time.After(readyTimeout)
	for !isReady(ctx, client, url) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case err := <-c.ended:
			return err
		case <-tooLate:
			return fmt.Errorf("%s does not answer 200 after %v", url, readyTimeout)
		}
	}
	return nil
}

func isReady(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
