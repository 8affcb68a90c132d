package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
)

// conn is one connection. It is used until something is wrong with it, and then cut off.
type conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	alive context.Context // ends when it is cut off, with the cause
	end   context.CancelCauseFunc
	// hasStream: a stream takes the subjects, all of them or some.
	hasStream, hasAll atomic.Bool

	mu     sync.Mutex
	socket net.Conn
	asked  map[string]context.CancelCauseFunc // which end the questions to subjects
}

func (c *conn) isAlive() bool { return c != nil && c.alive.Err() == nil }

func (c *conn) isReady() bool { return c.isAlive() && c.hasStream.Load() }

func (r *Receiver) dial(ctx context.Context) (*conn, error) {
	options, err := connectOptions(r.Options)
	if err != nil {
		return nil, &deliver.DownError{Err: err}
	}
	c := &conn{asked: map[string]context.CancelCauseFunc{}}
	c.alive, c.end = context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, c.cutSocket) // which ends what the client waits for
	defer stop()
	dialer := &dialer{ctx: ctx, conn: c}
	nc, err := nats.Connect(r.Server, append(options,
		nats.SetCustomDialer(dialer),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.wrong(err) }),
		nats.ClosedHandler(func(nc *nats.Conn) { c.cut(closedBy(nc.LastError())) }))...)
	if err != nil {
		return nil, r.notConnected(dialer.err, err)
	}
	c.mu.Lock()
	c.nc = nc
	c.mu.Unlock()
	if c.js, err = jetstream.New(nc, jetstream.WithPublishAsyncTimeout(2*r.Deadline)); err != nil {
		c.cut(err)
		return nil, err
	}
	if _, err := nc.TLSConnectionState(); errors.Is(err, nats.ErrConnectionNotTLS) && !c.isLocal() {
		r.note(fmt.Sprintf("warning: %s gets the events in the clear: anybody on the way can read and change them", r.Server))
	}
	return c, nil
}

// isLocal reports whether the server is on this machine.
func (c *conn) isLocal() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	tcp, ok := c.socket.RemoteAddr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// dialer connects one conn.
type dialer struct {
	net.Dialer
	ctx  context.Context // of one call of dial
	conn *conn
	err  error
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	socket, err := d.DialContext(d.ctx, network, address)
	if d.err = err; err != nil {
		return nil, err
	}
	d.conn.mu.Lock()
	defer d.conn.mu.Unlock()
	d.conn.socket = socket
	return socket, nil
}

// cutSocket closes the connection without a trace: what the system has not sent yet is
// not sent any more.
func (c *conn) cutSocket() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket == nil {
		return
	}
	if tcp, ok := c.socket.(*net.TCPConn); ok {
		tcp.SetLinger(0) // best effort
	}
	c.socket.Close()
}

// cut ends the connection. All who wait for an answer get cause.
func (c *conn) cut(cause error) {
	c.end(cause)
	c.cutSocket()
	c.mu.Lock()
	nc := c.nc
	c.mu.Unlock()
	if nc != nil {
		nc.Close()
	}
}

// closedBy is why a connection was closed by the other side.
func closedBy(err error) error {
	if err == nil {
		return errors.New("the server has closed the connection")
	}
	return fmt.Errorf("the connection is lost: %w", err)
}

// wrong takes what the server says without being asked.
func (c *conn) wrong(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		c.cut(err)
		return
	}
	denied := deniedSubject.FindStringSubmatch(err.Error())
	if denied == nil { // no answer can come
		c.cut(fmt.Errorf("answers can't come: %w", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.asked[denied[1]]; end != nil {
		end(&deniedError{denied[1]})
	}
}

var deniedSubject = regexp.MustCompile(`(?i)Publish to "([^"]*)"`)

// deniedError: the server does not let this user publish to a subject.
type deniedError struct{ subject string }

func (e *deniedError) Error() string {
	return "the server does not permit this user to publish to " + e.subject
}

// ask asks JetStream something, by a subject that may be denied. One at a time asks by a subject.
func (c *conn) ask(ctx context.Context, subject string, question func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(c.alive, func() { end(&deliver.DownError{Err: context.Cause(c.alive)}) })()
	c.setAsked(subject, end)
	defer c.setAsked(subject, nil)
	err := question(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.alive.Err() != nil: // of which ctx has not heard yet
		return &deliver.DownError{Err: context.Cause(c.alive)}
	}
	return err
}

func (c *conn) setAsked(subject string, end context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[subject] = end; end == nil {
		delete(c.asked, subject)
	}
}

// publish publishes a message, and returns nil when it is stored.
func (c *conn) publish(ctx context.Context, m *nats.Msg) error {
	// At the end nothing may be left that is sent, or stored, later.
	cut := func() { c.cut(context.Cause(ctx)) }
	defer context.AfterFunc(ctx, cut)()
	err := c.ask(ctx, m.Subject, func(ctx context.Context) error {
		future, err := c.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
		if err != nil {
			return err
		}
		select {
		case <-future.Ok():
			return nil
		case err := <-future.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if ctx.Err() != nil {
		cut() // before the next one is sent
	}
	return err
}
