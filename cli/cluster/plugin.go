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

// pluginPatience is how long a credential plugin may run in silence.
const pluginPatience = 3 * time.Second

// plugin is the program that gets the credentials, exec in the kubeconfig. client-go
// runs it within a request, without the request's context, and keeps the process to
// itself: dwatch can stop waiting for a plugin that hangs, but not end it.
type plugin struct {
	note    func() // says what is waited for
	mu      sync.Mutex
	waiting int         // requests that have no credentials yet
	slow    *time.Timer // while there are any
}

// newPlugin returns the plugin of config; nil if there is none. It adds to config
// what it has to see of each request.
func newPlugin(config *rest.Config, note func(line string)) *plugin {
	exec := config.ExecProvider
	if exec == nil {
		return nil
	}
	p := &plugin{note: func() {
		if note != nil && exec.InteractiveMode != clientcmdapi.AlwaysExecInteractiveMode { // else a person is asked, who sees it
			note(fmt.Sprintf("waiting for the credential plugin %s of the user in the kubeconfig; Ctrl-C ends dwatch", filepath.Base(exec.Command)))
		}
	}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return afterPlugin{p, next} })
	return p
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
	r, err := http.NewRequestWithContext(context.WithValue(ctx, loginKey{}, true), http.MethodGet, "https://"+c.Host, nil)
	if err != nil {
		return err
	}
	_, err = c.HTTP.Do(r)
	return err
}

// loginKey marks the context of a request that is only for its credentials, and does
// not go to the server.
type loginKey struct{}

// begin notes that a request has no credentials yet, until end is called for the first time.
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

// withPlugin makes requests through next, where client-go runs the plugin. A request
// ends with its context; its goroutine goes on until the plugin ends, and nobody waits
// for it, against the rule of the house: nothing can end it.
type withPlugin struct {
	plugin *plugin
	next   http.RoundTripper
}

// run is a request on its way; end says that it has its credentials.
type run struct{ end func() }

type runKey struct{}

func (w withPlugin) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, run := r.Context(), &run{w.plugin.begin()}
	done := make(chan struct{})
	// A copy: client-go adds a header, which may be when the caller has r back.
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

// afterPlugin comes after client-go's part: a request that arrives here has its credentials.
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
		run.end = a.plugin.begin() // client-go has the plugin get others
	}
	return answer, err
}
