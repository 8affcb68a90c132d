package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
	"dwatch/output/deliver/otlp"
	"dwatch/output/deliver/secret"
)

// Options say where messages go, and in which form.
type Options struct {
	URL       *url.URL // of the scheme http or https, with a host
	Format    Format
	UserAgent string
	Workers   int // how many messages are sent at the same time
	// Service is one of Services if the receiver is known to be that, whose responses have a meaning beyond the status.
	Service string

	Token, Headers, Signing secret.Source // a bearer token, "Name: value" lines, whsec_BASE64 secrets
	deliver.TLS
}

// Form is what a message looks like on the wire.
type Format uint8

const (
	Binary     Format = iota // a CloudEvent: its attributes are headers, its data is the body
	Structured               // a CloudEvent as one JSON document
	OTLPLogs                 // a log record of OpenTelemetry
)

// Webhook is a Receiver behind a URL.
type Receiver struct {
	Options
	source  string
	roots   *secret.Value[*x509.CertPool]
	token   *secret.Value[string]
	headers *secret.Value[http.Header]
	signing *secret.Value[[][]byte]
	unasked atomic.Bool // it does not take the question whether it wants a large body

	mu        sync.Mutex
	transport *http.Transport
}

var _ deliver.Receiver = (*Receiver)(nil)

// New connects to nothing yet. Its errors are of files.
func New(o Options) (w *Receiver, err error) {
	w = &Receiver{Options: o}
	var wrong [4]error
	w.token, wrong[0] = secret.Load(o.Token, parseToken)
	w.headers, wrong[1] = secret.Load(o.Headers, parseHeaders)
	w.signing, wrong[2] = secret.Load(o.Signing, parseSecrets)
	w.roots, wrong[3] = secret.LoadRootCAs(o.CA, caFlag)
	if err := cmp.Or(wrong[:]...); err != nil {
		return nil, err
	}
	if given, _ := w.headers.Get(); w.token != nil && given.Get("Authorization") != "" {
		return nil, fmt.Errorf("%s and %s both give an Authorization: one of them is too much", o.Token.Name, o.Headers.Name)
	}
	w.transport, err = newTransport(o)
	return w, err
}

// connections returns what makes them, which is another one once other authorities are trusted: one that was made before is not used
// any more.
func (w *Receiver) connections() (*http.Transport, error) {
	roots, err := w.roots.Get()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if roots != nil && roots != w.transport.TLSClientConfig.RootCAs {
		w.transport.CloseIdleConnections()
		w.transport = w.transport.Clone()
		w.transport.TLSClientConfig.RootCAs = roots
	}
	return w.transport, nil
}

// SetSource sets the attribute "source" of all messages, a URI. It is called before Send.
func (w *Receiver) SetSource(source string) { w.source = source }

func (w *Receiver) Close() { w.transport.CloseIdleConnections() }

// Send implements deliver.Receiver.
func (w *Receiver) Send(ctx context.Context, m *deliver.Message) error {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) }, // again, if a connection that was kept is closed
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := w.request(ctx, m)
	if err != nil {
		return &deliver.DownError{Err: err} // it is about a file, and so about all messages
	}
	connections, err := w.connections()
	if err != nil {
		return &deliver.DownError{Err: err}
	}
	answer, err := connections.RoundTrip(request)
	if err != nil {
		return w.unanswered(ctx, err, connected.Load())
	}
	var text bytes.Buffer
	if w.Format == OTLPLogs || w.Service != "" {
		drain(answer, &text)
	} else {
		drain(answer, io.Discard)
	}
	if answer.StatusCode == http.StatusExpectationFailed {
		w.unasked.Store(true)
	}
	if err := statusError(answer.StatusCode, answer.Header, time.Now()); err != nil {
		return err
	}
	if w.Format == OTLPLogs {
		if err := otlp.CheckResponse(answer.Header.Get("Content-Type"), text.Bytes()); err != nil {
			return &deliver.RefusedError{Err: err}
		}
	}
	return checkResponse(w.Service, answer.StatusCode, text.String())
}

// request returns the request that sends a message. Its errors are of files.
func (w *Receiver) request(ctx context.Context, m *deliver.Message) (*http.Request, error) {
	header := make(http.Header, 24)
	body, err := w.encode(m, header)
	if err != nil {
		return nil, err
	}
	header["User-Agent"] = []string{w.UserAgent}
	if len(body) >= largeBody && !w.unasked.Load() {
		header["Expect"] = []string{"100-continue"}
	}
	// The id makes a message known again, so the transport may send one a second time
	// that went into a connection which the server was just closing.
	header["Idempotency-Key"] = nil
	if err := w.authorize(header, m.ID, body); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.URL, request.Header = w.URL, header
	return request, nil
}

// encode returns the body of a request, and sets the headers that say what it is.
func (w *Receiver) encode(m *deliver.Message, header http.Header) ([]byte, error) {
	if w.Format == OTLPLogs {
		header["Content-Type"] = []string{otlp.ContentType}
		return otlp.Encode(m, w.source)
	}
	e := cloudevent.New(m, w.source)
	if w.Format == Structured {
		header["Content-Type"] = []string{event.ApplicationCloudEventsJSON}
		return e.MarshalJSON()
	}
	header["Content-Type"] = []string{e.DataContentType()}
	cloudevent.EachHeader(e, func(name, value string) {
		header["Ce-"+strings.ToUpper(name[:1])+name[1:]] = []string{value}
	})
	return m.Body, nil
}

// authorize adds credentials, as they are now.
func (w *Receiver) authorize(header http.Header, id string, body []byte) error {
	more, headersErr := w.headers.Get()
	token, tokenErr := w.token.Get()
	secrets, signingErr := w.signing.Get()
	maps.Copy(header, more)
	if token != "" {
		header["Authorization"] = []string{"Bearer " + token}
	}
	if len(secrets) > 0 {
		sign(header, secrets, id, time.Now(), body)
	}
	return cmp.Or(headersErr, tokenErr, signingErr)
}

// longestAnswer is how much of an answer is read, and drainTimeout for how long, so that its
// connection can be used again.
const (
	longestAnswer = 256 << 10
	drainTimeout  = time.Second
)

func drain(answer *http.Response, to io.Writer) {
	if answer.StatusCode != http.StatusSwitchingProtocols { // which is a connection, without a deadline
		late := time.AfterFunc(drainTimeout, func() { answer.Body.Close() })
		defer late.Stop()
		_, _ = io.CopyN(to, answer.Body, longestAnswer) // its status says enough without it
	}
	answer.Body.Close()
}
