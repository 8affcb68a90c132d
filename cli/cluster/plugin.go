package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// pluginPatience is how long a credential plugin may run in silence.
const pluginPatience = 3 * time.Second

// plugin is the program that gets the credentials, exec in the kubeconfig. client-go
// runs it within a request, without the request's context, and keeps the process to
// itself: dwatch can stop waiting for a plugin that hangs, but not end it.
type plugin struct {
	command string
	note    func(line string) // may be nil
	stderr  *pluginStderr     // nil if the process's own is good enough
	// turn holds one token: who has it may run the plugin. Otherwise each request
	// that is made while the plugin hangs would leave a goroutine behind.
	turn chan struct{}
	// noted: it was said that the plugin takes long, and it has not ended since.
	noted atomic.Bool
}

// newPlugin returns the plugin of config; nil if there is none. It adds to config
// what it has to see of each request.
func newPlugin(config *rest.Config, o Options) (*plugin, error) {
	if config.ExecProvider == nil {
		return nil, nil
	}
	p := &plugin{command: filepath.Base(config.ExecProvider.Command), note: o.Note, turn: make(chan struct{}, 1)}
	if o.PluginText != nil {
		var err error
		if p.stderr, err = newPluginStderr(o.PluginText); err != nil {
			return nil, fmt.Errorf("credential plugin %s: %w", p.command, err)
		}
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return afterPlugin{next} })
	return p, nil
}

// newClient returns the HTTP client of config, which has p, or no plugin if that is
// nil. A request ends with its context, whatever the plugin does.
func newClient(config *rest.Config, p *plugin) (client *http.Client, err error) {
	if p == nil {
		return rest.HTTPClientFor(config)
	}
	p.stderr.use(func() { client, err = rest.HTTPClientFor(config) })
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: withPlugin{p, client.Transport}}, nil
}

// Login has the credential plugin run, if there is one: it may ask a person for
// something, and what bounds the questions to a server is too short for that.
func (c *Cluster) Login(ctx context.Context) error {
	if c.plugin == nil {
		return nil
	}
	transport, err := c.Config.TransportConfig()
	if err != nil {
		return err
	}
	server, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.String(), nil)
	if err != nil {
		return err
	}
	if _, err = (withPlugin{c.plugin, transport.WrapTransport(nobody{})}).RoundTrip(r); err != nil {
		return &url.Error{Op: "Get", URL: c.Host, Err: err}
	}
	return nil
}

// step is the part of a request in which the plugin may run.
type step struct {
	plugin   *plugin
	hasTurn  bool
	patience *time.Timer
}

// begin waits until nobody else may run the plugin.
func (p *plugin) begin(ctx context.Context) (*step, error) {
	select {
	case p.turn <- struct{}{}:
		p.stderr.beginLine()
		return &step{plugin: p, hasTurn: true, patience: time.AfterFunc(pluginPatience, p.takesLong)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// end says that the plugin does not run, or no more. It may be called again.
func (s *step) end() {
	s.patience.Stop()
	if s.hasTurn {
		s.hasTurn = false
		s.plugin.noted.Store(false)
		<-s.plugin.turn
	}
}

// resume: the server no longer takes the credentials, and the plugin gets others.
// If somebody else has the turn, that one waits for the same.
func (s *step) resume() {
	s.plugin.stderr.beginLine()
	s.patience.Reset(pluginPatience)
	select {
	case s.plugin.turn <- struct{}{}:
		s.hasTurn = true
	default:
	}
}

// takesLong says what is waited for, unless the plugin itself asks for something.
func (p *plugin) takesLong() {
	if p.note == nil || p.stderr.isMidLine() || !p.noted.CompareAndSwap(false, true) {
		return
	}
	p.note(fmt.Sprintf("waiting for the credential plugin %s of the user in the kubeconfig; Ctrl-C ends dwatch", p.command))
}

// close waits until all is printed that the plugin has written, unless it still runs.
func (p *plugin) close() {
	select {
	case p.turn <- struct{}{}:
		p.stderr.close()
	default:
	}
}
