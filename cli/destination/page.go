package destination

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"syscall"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/cli/version"
	"dwatch/output"
	"dwatch/output/page"
)

// Page serves the objects as a web page (dwatch serve).
type Page struct {
	flags.Page
	UTC bool
	// Past, if not nil, returns the recording that is shown instead of a cluster.
	Past func(ctx context.Context) (*page.Recording, error)

	options page.ServerOptions
	served  bool
}

var _ run.Destination = (*Page)(nil)

// Requirements implements run.Destination.
func (p *Page) Requirements() run.Requirements {
	return run.Requirements{ManagedFields: true, Tables: true, WholeObjects: true, Events: true, Revisions: true, States: true, Lasting: true}
}

// Prepare reads the certificate and listens.
func (p *Page) Prepare(*console.Console) error {
	p.options.BehindProxy = p.Insecure
	if p.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return fail.Usage(fmt.Errorf("--tls-cert and --tls-key: %w", err))
		}
		p.options.Certificate = &certificate
	}
	var err error
	if p.options.Listener, err = net.Listen("tcp", p.Address); err != nil {
		return fail.Usage(fmt.Errorf("--addr %s: %w", p.Address, explainListenError(err)))
	}
	return nil
}

func explainListenError(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return errors.New("another program listens there: choose another port, or 0 for a free one")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return errors.New("this machine does not have that address")
	case errors.Is(err, syscall.EACCES):
		return errors.New("ports below 1024 take more rights: choose another one")
	}
	return err
}

// Close closes the listener of a page that was never served.
func (p *Page) Close() {
	if !p.served {
		p.options.Listener.Close()
	}
}

// Open prints the URL of the page. The server listens already, so that no viewer comes too early.
func (p *Page) Open(ctx context.Context, env *run.Environment) (run.Output, error) {
	scope := env.Scope
	o := PageOptions(env.Config, scope, p.UTC)
	v := &pageView{env: env}
	if p.Past != nil {
		var err error
		if o.Recording, err = p.Past(ctx); err != nil {
			return run.Output{}, err
		}
		run.TuneLong()
	} else {
		v.lookups = newLookups(env)
		o.Server, o.FetchEvents, o.FetchRevisions = scope.Server, scope.EventsAbout(env.Config.Print.Compare.Masks), scope.Revisions
		o.LookupOwners, o.LookupWarning = v.lookups.above.Get, v.lookups.warned.Newest
	}
	if env.Recordings != nil {
		p.options.RecordingHandler = env.Recordings.Offer()
	}
	hub := page.New(o)
	v.server = page.NewServer(hub, p.options)
	p.served = true
	p.announce(env, v.server)
	return run.Output{Sink: hub, Around: v.around}, nil
}

// PageOptions say what a page is about, whatever its source.
func PageOptions(cfg *run.Config, scope *run.Scope, utc bool) page.Options {
	return page.Options{
		Targets: scope.Targets, Title: scope.CommandLine(), Version: version.Release(), UTC: utc,
		Cluster: scope.Cluster, Clusters: scope.Clusters,
		Compare: cfg.Print.Compare, DescribeConnectionError: fail.ExplainDisconnect, KubeEventsFiltered: cfg.IsFiltered() || scope.Request.IsFiltered(),
	}
}

// announce prints the URL. --quiet does not hide it: the user needs it.
func (p *Page) announce(env *run.Environment, server *page.Server) {
	c := env.Console
	c.Warn("page: " + server.URL())
	if p.Insecure {
		c.Warn("warning: the page is served without TLS: others on the network can read it and the token")
	}
	if p.options.RecordingHandler != nil {
		c.Say(fmt.Sprintf("anyone with this URL can read the recording in %s with --from, including data from earlier runs if this user may read it", output.EscapeLine(env.Recordings.Dir())))
	}
	if p.Page.OpenBrowser {
		if err := openBrowser(server.OneTimeURL()); err != nil {
			c.Say(fmt.Sprintf("no browser was opened: %v", err))
		}
	}
}

type pageView struct {
	env     *run.Environment
	server  *page.Server
	lookups *lookups // nil over a recording
}

// around serves the page while watch runs, and then tells its viewers why it has ended.
func (v *pageView) around(ctx context.Context, _ context.CancelCauseFunc, watch func() error) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := v.server.Serve(); err != nil {
			v.env.Console.Warn(fmt.Sprintf("the page is no longer served: %v", err))
		}
	}()
	err := v.lookups.during(ctx, watch)
	reason := "the run has ended"
	if err != nil {
		reason = fail.Explain(err)[0]
	}
	v.server.Close(reason)
	<-ended
	return err
}

// openBrowser makes the desktop open a URL. It does not wait for the program that does it.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(name, args...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // frees its resources when it ends
	return nil
}
