package jetstream

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/singleflight"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// Options says where to publish, and as whom.
type Options struct {
	Server       string // nats://HOST:PORT, or tls://HOST:PORT; the port may be missing
	Prefix       string // of subjects; CheckPrefix has found it good
	Several      bool   // clusters: that of a message is a part of its subject
	Mixed        bool   // with Several, other messages are of one cluster alone, and have it not in theirs
	Rule         string // is a part of the ids by which the server drops repeats: what others send of an event is none; empty: there are no others
	CreateStream string // is made if no stream takes the subjects; empty: none is made
	// Deadline is that of a try. After twice that, what was not answered is forgotten; 0: never.
	Deadline time.Duration
	Silence  time.Duration     // after it a server is taken to be gone; 0: fifteen seconds
	Note     func(line string) // gets what is worth knowing, a line at a time; may be nil

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
	opening singleflight.Group
	noted   sync.Map // lines
}

var _ deliver.Receiver = (*Receiver)(nil)

// New returns a Receiver that is not connected yet. Its errors are of the files.
func New(o Options) (*Receiver, error) {
	return &Receiver{Options: o}, o.check()
}

// SetSource sets the attribute "source" of all messages, a URI. It is called before Send.
func (r *Receiver) SetSource(source string) { r.source = source }

// Check connects, and looks for the stream. A deliver.DownError says that the server can't
// be reached, or is not ready, and a SetupError that there is no stream.
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
	if _, isDown := errors.AsType[*deliver.DownError](err); err != nil && !isDown {
		err = &deliver.DownError{Err: err}
	}
	if err != nil {
		return err
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
	set(nats.MsgIdHdr, cloudevent.Escape(cloudevent.Valid(id)))
	event := cloudevent.New(m, r.source)
	set("ce-datacontenttype", event.DataContentType())
	cloudevent.Headers(event, func(name, value string) { set("ce-"+name, value) })
	return header
}

// connect returns a connection to a server that has a stream. All who need one wait for the same,
// which may take longer than one of them does.
func (r *Receiver) connect(ctx context.Context) (*conn, error) {
	if c := r.conn.Load(); c.isReady() {
		return c, nil
	}
	opened := r.opening.DoChan("", func() (any, error) { return r.open(ctx) })
	select {
	case one := <-opened:
		return one.Val.(*conn), one.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open begins with the connection that there is, if it lives. It goes on after the deadline of try.
func (r *Receiver) open(try context.Context) (c *conn, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(try), openTimeout)
	defer cancel()
	defer context.AfterFunc(try, func() {
		if _, late := errors.AsType[*deliver.DeadlineError](context.Cause(try)); !late {
			cancel()
		}
	})()
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

// note passes on what is worth knowing, once.
func (r *Receiver) note(line string) {
	if _, again := r.noted.LoadOrStore(line, true); r.Note != nil && !again {
		r.Note(line)
	}
}
