package webhook

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
	"dwatch/output/deliver/otlp"
	"dwatch/output/deliver/secret"
)

// Options configures a Receiver.
type Options struct {
	URL       *url.URL // with the scheme http or https and a host
	Format    Format
	UserAgent string
	Workers   int // the number of concurrent requests
	// Service is one of Services, whose responses have a meaning beyond the status. If empty, only the status counts.
	Service string

	Token, Headers, Signing secret.Source // a bearer token, "Name: value" lines, whsec_BASE64 secrets
	deliver.TLS
}

// Format is the format of a request.
type Format uint8

const (
	Binary     Format = iota // a CloudEvent whose attributes are headers and whose data is the body
	Structured               // a CloudEvent as a JSON document
	OTLPLogs                 // an OpenTelemetry log record
)

// Receiver sends messages to a URL. It embeds Options because most of them apply to each request.
type Receiver struct {
	Options
	source      string
	credentials credentials
	transport   transport
	noExpect    atomic.Bool // true if the server does not support Expect: 100-continue
}

var _ deliver.Receiver = (*Receiver)(nil)

// New returns a Receiver without connecting. It fails if a file is invalid.
func New(o Options) (w *Receiver, err error) {
	w = &Receiver{Options: o}
	if w.credentials, err = loadCredentials(o); err != nil {
		return nil, err
	}
	if w.transport.roots, err = secret.LoadRootCAs(o.CA, caFlag); err != nil {
		return nil, err
	}
	w.transport.current, err = newTransport(o)
	return w, err
}

// SetSource sets the attribute "source" of all messages, a URI. It must be called before Send.
func (w *Receiver) SetSource(source string) { w.source = source }

// Close closes the idle connections.
func (w *Receiver) Close() { w.transport.current.CloseIdleConnections() }

// Send implements deliver.Receiver.
func (w *Receiver) Send(ctx context.Context, m *deliver.Message) error {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) }, // called again if an idle connection turns out to be closed
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := w.request(ctx, m)
	if err != nil {
		return &deliver.DownError{Err: err} // a file is invalid, which affects all messages
	}
	transport, err := w.transport.get()
	if err != nil {
		return &deliver.DownError{Err: err}
	}
	answer, err := transport.RoundTrip(request)
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
		w.noExpect.Store(true)
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

// request returns the request for a message. It fails if a file is invalid.
func (w *Receiver) request(ctx context.Context, m *deliver.Message) (*http.Request, error) {
	header := make(http.Header, 24)
	body, err := w.encode(m, header)
	if err != nil {
		return nil, err
	}
	header["User-Agent"] = []string{w.UserAgent}
	if len(body) >= largeBody && !w.noExpect.Load() {
		header["Expect"] = []string{"100-continue"}
	}
	// The transport may repeat a request that it sent while the server was closing the connection. The ID makes that safe.
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

// encode returns the body of a request, and sets the headers that describe it.
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

// authorize adds the current credentials.
func (w *Receiver) authorize(header http.Header, id string, body []byte) error {
	more, headersErr := w.credentials.headers.Get()
	token, tokenErr := w.credentials.token.Get()
	secrets, signingErr := w.credentials.signing.Get()
	maps.Copy(header, more)
	if token != "" {
		header["Authorization"] = []string{"Bearer " + token}
	}
	if len(secrets) > 0 {
		sign(header, secrets, id, time.Now(), body)
	}
	return cmp.Or(headersErr, tokenErr, signingErr)
}

// longestAnswer is the maximum number of bytes of a response that are read, and drainTimeout the maximum time. A response that has
// been read completely lets the connection be reused.
const (
	longestAnswer = 256 << 10
	drainTimeout  = time.Second
)

func drain(answer *http.Response, to io.Writer) {
	if answer.StatusCode != http.StatusSwitchingProtocols { // its body is the connection, which has no end
		late := time.AfterFunc(drainTimeout, func() { answer.Body.Close() })
		defer late.Stop()
		_, _ = io.CopyN(to, answer.Body, longestAnswer) // the status is sufficient
	}
	answer.Body.Close()
}
