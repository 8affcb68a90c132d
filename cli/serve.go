package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"syscall"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/page"
	"dwatch/watcher/event"
)

type serveFlags struct {
	watchFlags
	page   flags.Page
	noise  flags.Noise
	masks  flags.Masks
	beside flags.Recording
	rewound
}

func (s *serveFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to show", s.targets.AddTo, flags.Subject(&s.object), s.targets.AddWait),
		flags.NewGroup("The past", s.rewound.addTo),
		flags.NewGroup("Where it is served", s.page.AddTo, flags.Timeout(&s.w.ending.Timeout, "with exit code 0"), flags.Listen(&s.w.listen)),
		flags.NewGroup("What changed", s.noise.AddTo, s.masks.AddTo, s.masks.AddShowSecrets("")),
		flags.NewGroup("The recording", s.beside.AddTo),
	}
}

func (s *serveFlags) parse(args []string, _ terminal) (runner, error) {
	w := &s.w
	w.lasting, w.filter.PassStatus, w.fleets, w.to = true, true, true, &served{Page: s.page, utc: s.messages.UTC}
	w.needs = needs{managedFields: true, tables: true, wholeObjects: true, events: true}
	if err := s.page.CheckArguments(args); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.rewound.read(s.all), s.selectTargets(args)); err != nil {
		return nil, err
	}
	s.noise.Apply(&w.print.Compare)
	w.ignored = s.noise.IgnoredPaths()
	if s.from.IsSet() {
		r := &servedPast{w: w, page: w.to.(*served), rewound: &s.rewound}
		return r, cmp.Or(checkFrom(s.all, s.server, w.selection), s.page.Check(), s.masks.Parse(&w.print, true))
	}
	return w, cmp.Or(w.checkNamed("dwatch serve"), s.page.Check(), s.masks.Parse(&w.print, true), s.recordsBeside(s.beside))
}

type served struct {
	direct
	flags.Page
	utc     bool
	options page.ServerOptions
	hub     *page.Hub
	server  *page.Server
	asks    *lookAsks
}

func (s *served) prepare(*console) error {
	s.options.BehindProxy = s.Insecure
	if s.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return fail.Usage(fmt.Errorf("--tls-cert and --tls-key: %w", err))
		}
		s.options.Certificate = &certificate
	}
	var err error
	if s.options.Listener, err = net.Listen("tcp", s.Address); err != nil {
		return fail.Usage(fmt.Errorf("--addr %s: %w", s.Address, listenError(err)))
	}
	return nil
}

// listenError says what keeps a server from an address.
func listenError(err error) error {
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

// close lets go of the address of a page that was never served.
func (s *served) close() {
	if s.server == nil {
		s.options.Listener.Close()
	}
}

// open also says where the page is: the listener is there, so that nobody comes too early.
func (s *served) open(_ context.Context, w *watching, _ func(error)) (event.Sink, error) {
	o := s.shown(w)
	s.asks = newLookAsks(w)
	o.Clusters, o.FetchEvents, o.FetchRevisions = w.clusters(), w.eventsAbout(w.print.Compare.Masks), w.revisionsOf
	o.LookupOwners, o.LookupWarning = s.asks.above.Get, s.asks.warned.Newest
	if w.fleet == nil {
		o.Cluster, o.Server = w.DisplayName(), w.Host
	}
	if w.beside != nil {
		s.options.RecordingHandler = w.beside.offer()
	}
	s.begin(w, o)
	return s.hub, nil
}

// shown says what the page is about, wherever that comes from.
func (s *served) shown(w *watching) page.Options {
	return page.Options{
		Targets: w.plan.Targets, Title: w.typed(), Version: orDevel(release), UTC: s.utc,
		Compare: w.print.Compare, DescribeConnectionError: fail.ExplainDisconnect, KubeEventsFiltered: w.isFiltered() || w.scope.IsFiltered(),
	}
}

func (s *served) begin(w *watching, o page.Options) {
	s.hub = page.New(o)
	s.server = page.NewServer(s.hub, s.options)
	s.announce(w)
}

// around serves the page while watch runs, and then says goodbye to its viewers.
func (s *served) around(ctx context.Context, _ context.CancelCauseFunc, w *watching, watch func() error) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.server.Serve(); err != nil {
			w.warn(fmt.Sprintf("the page is no longer served: %v", err))
		}
	}()
	err := s.asks.beside(ctx, watch)
	reason := "the run has ended"
	if err != nil {
		reason = fail.Explain(err)[0]
	}
	s.server.Close(reason)
	<-ended
	return err
}

// announce says where the page is: it is what was asked for, so --quiet does not hide it.
func (s *served) announce(w *watching) {
	w.warn("page: " + s.server.URL())
	if s.Insecure {
		w.warn("warning: the page is served without TLS: who listens to the network sees all of it, and the token")
	}
	if s.options.RecordingHandler != nil {
		w.say(fmt.Sprintf("who has this address may ask by --from for all that is recorded in %s, by earlier runs, too, where this one may see that", output.EscapeLine(w.beside.dir())))
	}
	if s.OpenBrowser {
		if err := openBrowser(s.server.OneTimeURL()); err != nil {
			w.say(fmt.Sprintf("no browser was opened: %v", err))
		}
	}
}

// openBrowser asks the desktop to open a URL. The program that does it ends by itself.
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
	go cmd.Wait() // it is nobody's to wait for
	return nil
}
