package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output/page"
	"dwatch/watcher/event"
)

// served is the page of a run.
type served struct {
	options page.ServerOptions
	hub     *page.Hub
	server  *page.Server
	ended   chan error
}

// openPage listens where the page is to be served; nil if there is none. What is wrong
// with that is wrong usage.
func (j *job) openPage() (*served, error) {
	if !j.page.serves() {
		return nil, nil
	}
	s := &served{options: page.ServerOptions{Proxied: j.page.serveInsecure}}
	if j.page.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(j.page.tlsCert, j.page.tlsKey)
		if err != nil {
			return nil, fail.Usage(fmt.Errorf("--tls-cert and --tls-key: %w", err))
		}
		s.options.Certificate = &certificate
	}
	var err error
	if s.options.Listener, err = net.Listen("tcp", j.page.serve); err != nil {
		return nil, fail.Usage(fmt.Errorf("--serve %s: %w", j.page.serve, listenError(err)))
	}
	return s, nil
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
	if s != nil && s.server == nil {
		s.options.Listener.Close()
	}
}

// start serves the page.
func (s *served) start(j *job, targets []event.Target) {
	if s == nil {
		return
	}
	s.hub = page.New(page.Options{
		Targets: targets, Title: j.title(), Server: j.Host, Version: orDevel(release),
		Compare: j.print.Compare, Loss: fail.Loss,
	})
	s.server = page.NewServer(s.hub, s.options)
	s.ended = make(chan error, 1)
	go func() {
		err := s.server.Serve()
		if err != nil {
			report.Line(j.stderr, fmt.Sprintf("the page is no longer served: %v", err))
		}
		s.ended <- err
	}()
	// It is what --serve asks for: --quiet does not hide it.
	report.Line(j.stderr, "page: "+s.server.URL())
	if j.page.serveInsecure {
		report.Line(j.stderr, "warning: the page is served without TLS: who listens to the network sees all of it, and the token")
	}
	if j.page.open {
		if err := openBrowser(s.server.OneTimeURL()); err != nil {
			report.Line(j.reports, fmt.Sprintf("no browser was opened: %v", err))
		}
	}
}

// title says what is watched, as it was typed.
func (j *job) title() string {
	var words []string
	for _, a := range j.arguments {
		words = append(words, a.String())
	}
	switch {
	case j.allNamespaces:
		words = append(words, "-A")
	case len(j.namespaces) > 0:
		words = append(words, "-n "+strings.Join(j.namespaces, ","))
	}
	if j.selector != "" {
		words = append(words, "-l "+j.selector)
	}
	return strings.Join(words, " ")
}

// end says goodbye to the viewers of a run that ended with err.
func (s *served) end(err error) {
	if s == nil || s.server == nil {
		return
	}
	reason := "the run has ended"
	if err != nil {
		if lines := fail.Explain(err); len(lines) > 0 {
			reason = lines[0]
		}
	}
	s.server.Close(reason)
	<-s.ended
}

// beside returns a Sink that hands each batch to the page, if there is one, and to next.
func (s *served) beside(next event.Sink) event.Sink {
	if s == nil {
		return next
	}
	return s.hub.Beside(next)
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
