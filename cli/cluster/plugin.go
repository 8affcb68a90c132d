package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// pluginPatience is how long a credential plugin may run in silence.
const pluginPatience = 3 * time.Second

// plugin is the program that gets the credentials, exec in the kubeconfig. client-go
// runs it within a request, without the request's context, and keeps the process to
// itself: dwatch can stop waiting for a plugin that hangs, but not end it.
type plugin struct {
	command string
	note    func(line string) // may be nil
	// turn holds one token: who has it may run the plugin. All others wait for that
	// with their contexts, as in client-go they could not.
	turn chan struct{}
}

// newPlugin returns the plugin of config; nil if there is none. It adds to config
// what it has to see of each request.
func newPlugin(config *rest.Config, note func(line string)) *plugin {
	exec := config.ExecProvider
	if exec == nil {
		return nil
	}
	if exec.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		note = nil // it asks a person, who sees by that what is waited for
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return afterPlugin{next} })
	return &plugin{command: filepath.Base(exec.Command), note: note, turn: make(chan struct{}, 1)}
}

// newClient returns the HTTP client of config, which has p, or no plugin if that is
// nil. A request ends with its context, whatever the plugin does.
func newClient(config *rest.Config, p *plugin) (*http.Client, error) {
	client, err := rest.HTTPClientFor(config)
	if p == nil || err != nil {
		return client, err
	}
	return &http.Client{Transport: withPlugin{p, client.Transport}}, nil
}

// Login has the credential plugin run, if there is one: it may ask a person for
// something, and what bounds the questions to a server is too short for that.
func (c *Cluster) Login(ctx context.Context) error {
	if c.plugin == nil {
		return nil
	}
	server, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, loginKey{}, true), http.MethodGet, server.String(), nil)
	if err != nil {
		return err
	}
	answer, err := c.HTTP.Do(r)
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

// loginKey marks the context of a request that is only for its credentials, and does
// not go to the server.
type loginKey struct{}

// run is the part of a request in which the plugin may run.
type run struct {
	*plugin
	slow *time.Timer // nil outside of that part
}

type runKey struct{}

// begin waits until nobody else may run the plugin.
func (r *run) begin(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		r.slow = time.AfterFunc(pluginPatience, r.takesLong)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end says that the plugin does not run, or no more. It may be called again.
func (r *run) end() {
	if r.slow != nil {
		r.slow.Stop()
		r.slow = nil
		<-r.turn
	}
}

// takesLong says what is waited for.
func (p *plugin) takesLong() {
	if p.note != nil {
		p.note(fmt.Sprintf("waiting for the credential plugin %s of the user in the kubeconfig; Ctrl-C ends dwatch", p.command))
	}
}

// withPlugin makes requests through next, where client-go runs the plugin. A request
// ends with its context. The goroutine of the one that runs the plugin goes on until
// that ends, and nobody waits for it, against the rule of the house: nothing can end it.
type withPlugin struct {
	plugin *plugin
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w withPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	run := &run{plugin: w.plugin}
	if err := run.begin(ctx); err != nil {
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
	r = r.Clone(context.WithValue(ctx, runKey{}, run))
	go func() {
		answer, err := w.next.RoundTrip(r)
		run.end()
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

// afterPlugin comes after client-go's part: a request that arrives here has its
// credentials.
type afterPlugin struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a afterPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	run, _ := ctx.Value(runKey{}).(*run)
	if run == nil {
		return a.next.RoundTrip(r)
	}
	run.end()
	if ctx.Value(loginKey{}) != nil {
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	}
	answer, err := a.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		// client-go has the plugin get others.
		if err = run.begin(ctx); err != nil {
			answer.Body.Close()
			return nil, err
		}
	}
	return answer, err
}
