package cluster

import (
	"context"
	"net/http"
)

// withPlugin makes requests through next, where client-go runs the plugin. A request
// ends with its context. The goroutine of a plugin that goes on after that is not
// waited for, against the rule of the house: nothing can end it.
type withPlugin struct {
	plugin *plugin
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w withPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	s, err := w.plugin.begin(ctx)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	type result struct {
		answer *http.Response
		err    error
	}
	results := make(chan result)
	// A copy: client-go adds a header, which may be when the caller has r back.
	r = r.Clone(context.WithValue(ctx, stepKey{}, s))
	go func() {
		answer, err := w.next.RoundTrip(r)
		s.end()
		select {
		case results <- result{answer, err}:
		case <-ctx.Done():
			if answer != nil {
				answer.Body.Close()
			}
		}
	}()
	select {
	case got := <-results:
		return got.answer, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type stepKey struct{}

// afterPlugin comes after client-go's part: a request that arrives here has its
// credentials.
type afterPlugin struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a afterPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	s, _ := r.Context().Value(stepKey{}).(*step)
	if s == nil {
		return a.next.RoundTrip(r)
	}
	s.end()
	answer, err := a.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		s.resume()
	}
	return answer, err
}

// nobody stands in for a server. It answers at once.
type nobody struct{}

// RoundTrip implements http.RoundTripper.
func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
}
