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

// Options says where to publish, and as whom.
type Options struct {
	Server             string // nats://HOST:PORT, or tls://HOST:PORT; the port may be missing
	Prefix             string // of subjects; CheckPrefix has found it good
	MultiCluster       bool   // clusters: that of a message is a part of its subject
	AlsoWithoutCluster bool   // with Several, other messages are of one cluster alone, and have it not in theirs
	Rule               string // is a part of the ids by which the server drops repeats: what others send of an event is none; empty: there are no others
	CreateStream       string // is made if no stream takes the subjects; empty: none is made
	// Deadline is that of a try. After twice that, what was not answered is forgotten; 0: never.
	Deadline       time.Duration
	SilenceTimeout time.Duration     // after it a server is taken to be gone; 0: fifteen seconds
	Log            func(line string) // gets what is worth knowing, a line at a time; may be nil

	// Credentials, NKey and Login are files that say who dwatch is. They are read again for
	// each connection; empty: there is none.
	Credentials, NKey, Login string
	deliver.TLS
}

// openTimeout is how long it may take until the server has said that it is there, and has a stream.
const openTimeout = 5 * time.Second

// Receiver publishes messages. It has one connection, or none.
type Receiver struct {
	Options
	source  string
	conn    atomic.Pointer[conn]
	opening deliver.Opener[*conn]
	notes   deliver.OnceLogger
}

var _ deliver.Receiver = (*Receiver)(nil)

// New returns a Receiver that is not connected yet. Its errors are of the files.
func New(o Options) (*Receiver, error) {
	return &Receiver{Options: o}, o.check()
}

// SetSource sets the attribute "source" of all messages, a URI. It is called before Send.
func (r *Receiver) SetSource(source string) { r.source = source }

// Check connects, and looks for the stream. A deliver.DownError says that the server can't
// be reached, or is not ready, and a deliver.SetupError that there is no stream.
func (r *Receiver) Check(ctx context.Context) error {
	_, err := r.connect(ctx)
	return err
}

// Close ends the connection. Send is not called any more.
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

// header is the id by which the server knows a message again, and the attributes of the
// event as headers, as in the binary mode of the NATS binding of CloudEvents.
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

// connect returns a connection to a server that has a stream.
func (r *Receiver) connect(ctx context.Context) (*conn, error) {
	if c := r.conn.Load(); c.isReady() {
		return c, nil
	}
	return r.opening.Open(ctx, openTimeout, r.open)
}

// open begins with the connection that there is, if it lives.
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
