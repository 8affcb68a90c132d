package jetstream

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// Options configures a Receiver.
type Options struct {
	Server string // nats://HOST:PORT or tls://HOST:PORT; the port is optional
	Prefix string // the prefix of subjects, which must be valid for CheckPrefix
	// MultiCluster is true if messages have a cluster, which is part of their subjects. AlsoWithoutCluster is true if there are
	// also messages without a cluster. It only applies with MultiCluster.
	MultiCluster, AlsoWithoutCluster bool
	// Rule is part of the header Nats-Msg-Id, so that the server does not drop an event that another rule has sent. Empty without
	// rules.
	Rule         string
	CreateStream string // the stream to create if no stream stores the subjects; if empty, Check and Send fail instead
	// Deadline is the maximum duration of an attempt. The client forgets unconfirmed messages after twice that time. Zero means no
	// limit.
	Deadline       time.Duration
	SilenceTimeout time.Duration     // the time after which a silent server counts as down; zero means 15 seconds
	Log            func(line string) // gets notes and warnings, one line each; may be nil

	// Credentials, NKey and Login are paths of files for authentication. They are read again for each connection. Empty paths are
	// ignored.
	Credentials, NKey, Login string
	deliver.TLS
}

// openTimeout is the maximum time for connecting and for finding or creating a stream.
const openTimeout = 5 * time.Second

// Receiver publishes messages to a NATS server. It has at most one connection. It embeds Options because most of them apply to
// each connection.
type Receiver struct {
	Options
	source  string
	conn    atomic.Pointer[conn]
	opening deliver.Opener[*conn]
	notes   deliver.OnceLogger
}

var _ deliver.Receiver = (*Receiver)(nil)

// New returns a Receiver without connecting. It fails if a file can't be read or is invalid.
func New(o Options) (*Receiver, error) {
	return &Receiver{Options: o}, o.check()
}

// SetSource sets the attribute "source" of all messages, a URI. It must be called before Send.
func (r *Receiver) SetSource(source string) { r.source = source }

// Check connects, and finds or creates a stream. It returns a deliver.DownError if the server can't be reached or is not ready, and a
// deliver.SetupError if there is no stream or no JetStream.
func (r *Receiver) Check(ctx context.Context) error {
	_, err := r.connect(ctx)
	return err
}

// Close closes the connection. Send must not be called afterwards.
func (r *Receiver) Close() {
	if c := r.conn.Load(); c != nil {
		c.nc.Close()
	}
}

// Send implements deliver.Receiver.
func (r *Receiver) Send(ctx context.Context, m *deliver.Message) error {
	c, err := r.connect(ctx)
	if err != nil {
		return deliver.AsDownError(err)
	}
	subject := Subject(r.Prefix, m)
	err = c.publish(ctx, &nats.Msg{Subject: subject, Header: r.header(m), Data: m.Body})
	return r.explain(c, subject, err)
}

// header returns the headers of a message: the ID by which the server recognizes repetitions, and the attributes of the CloudEvent as
// in the binary mode of the NATS binding.
func (r *Receiver) header(m *deliver.Message) nats.Header {
	header := make(nats.Header, 20)
	set := func(name, value string) { header[name] = []string{value} }
	id := m.ID
	if rule := cmp.Or(m.Rule, r.Rule); rule != "" {
		id = rule + "/" + id
	}
	set(nats.MsgIdHdr, cloudevent.EscapeHeader(cloudevent.ToValidUTF8(id)))
	event := cloudevent.New(m, r.source)
	set("ce-datacontenttype", event.DataContentType())
	cloudevent.EachHeader(event, func(name, value string) { set("ce-"+name, value) })
	return header
}

// connect returns a connection that is ready for publishing, and opens it if necessary.
func (r *Receiver) connect(ctx context.Context) (*conn, error) {
	if c := r.conn.Load(); c.isReady() {
		return c, nil
	}
	return r.opening.Open(ctx, openTimeout, r.open)
}

// open connects unless there is a live connection, and looks for the streams. Opener ensures that it runs once at a time.
func (r *Receiver) open(ctx context.Context) (c *conn, err error) {
	if c = r.conn.Load(); c.isReady() {
		return c, nil
	}
	if !c.isAlive() {
		if c, err = r.dial(ctx); err != nil {
			return nil, err
		}
		r.conn.Store(c)
	}
	return c, r.findStream(ctx, c)
}

func (r *Receiver) note(line string) { r.notes.Log(r.Log, line) }
