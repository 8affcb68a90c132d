package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// pluginPatience is how long a credential plugin may run before the user is notified.
const pluginPatience = 3 * time.Second

// plugin tracks the credential plugin of the kubeconfig (exec). client-go runs it within a request, without the request's
// context, and does not expose the process. So dwatch can stop waiting for a plugin that hangs, but can't end it.
type plugin struct {
	note    func() // notifies the user that dwatch waits for the plugin
	mu      sync.Mutex
	waiting int         // requests that have no credentials yet
	slow    *time.Timer // calls note; runs while requests are waiting
}

// newPlugin returns the plugin of config, or nil if there is none. It wraps the transport of config to see when requests have
// their credentials.
func newPlugin(config *rest.Config, note func(line string)) *plugin {
	exec := config.ExecProvider
	if exec == nil {
		return nil
	}
	p := &plugin{note: func() {
		if note != nil && exec.InteractiveMode != clientcmdapi.AlwaysExecInteractiveMode { // a plugin that always prompts is visible anyway
			note(fmt.Sprintf("waiting for the credential plugin %s of the user in the kubeconfig; Ctrl-C ends dwatch", filepath.Base(exec.Command)))
		}
	}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return afterPlugin{p, next} })
	return p
}

// newClient returns an HTTP client for config. p is its plugin or nil. Requests end with their context, even if the plugin
// hangs.
func newClient(config *rest.Config, p *plugin) (*http.Client, error) {
	client, err := rest.HTTPClientFor(config)
	if p == nil || err != nil {
		return client, err
	}
	return &http.Client{Transport: withPlugin{p, client.Transport}}, nil
}

// Login runs the credential plugin, if there is one. The plugin may prompt the user, which may take longer than the timeout
// of requests to the server.
func (c *Cluster) Login(ctx context.Context) error {
	if c.plugin == nil {
		return nil
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, loginKey{}, true), http.MethodGet, "https://"+c.Host, nil)
	if err != nil {
		return err
	}
	_, err = c.HTTP.Do(r)
	return err
}

// loginKey marks the context of a request that only gets credentials and is not sent to the server.
type loginKey struct{}

// begin records that a request waits for credentials until end is called. Further calls of end do nothing.
func (p *plugin) begin() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting++; p.waiting == 1 {
		p.slow = time.AfterFunc(pluginPatience, p.note)
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiting--; p.waiting == 0 {
			p.slow.Stop()
		}
	})
}

// withPlugin makes requests through next, where client-go runs the plugin. A request ends with its context. Its goroutine runs
// until the plugin ends, and is not waited for, because dwatch can't end the plugin.
type withPlugin struct {
	plugin *plugin
	next   http.RoundTripper
}

// run is a request in flight. end records that it has its credentials.
type run struct{ end func() }

type runKey struct{}

func (w withPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, run := r.Context(), &run{w.plugin.begin()}
	done := make(chan struct{})
	// Clone the request, because client-go may add a header after RoundTrip has returned.
	r = r.Clone(context.WithValue(ctx, runKey{}, run))
	var answer *http.Response
	var err error
	go func() {
		defer close(done)
		answer, err = w.next.RoundTrip(r)
		run.end()
	}()
	select {
	case <-done:
		return answer, err
	case <-ctx.Done():
		go func() {
			if <-done; answer != nil {
				answer.Body.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// afterPlugin comes after client-go's authentication, so requests that reach it have their credentials.
type afterPlugin struct {
	plugin *plugin
	next   http.RoundTripper
}

func (a afterPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	run, ok := r.Context().Value(runKey{}).(*run)
	if !ok {
		return a.next.RoundTrip(r)
	}
	run.end()
	if r.Context().Value(loginKey{}) != nil {
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	}
	answer, err := a.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		run.end = a.plugin.begin() // client-go runs the plugin again
	}
	return answer, err
}
