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

// conn is one connection. It is closed after the first error that affects it.
type conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	alive context.Context // done when the connection is cut, with the cause
	end   context.CancelCauseFunc
	// hasStream is true once a lookup of the streams has succeeded or is not permitted. hasAll is true unless the streams are
	// unknown or do not store all subjects.
	hasStream, hasAll atomic.Bool

	mu     sync.Mutex
	socket net.Conn                           // nil until it is connected
	asked  map[string]context.CancelCauseFunc // cancels the pending request, by its subject
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
	stop := context.AfterFunc(ctx, c.cutSocket) // ends a handshake that hangs
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
		r.note(fmt.Sprintf("warning: %s gets the events unencrypted: others can read and change them", r.Server))
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
	ctx  context.Context // the context of Receiver.dial
	conn *conn
	err  error // the result of the last Dial
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

// cutSocket closes the socket and discards data that the operating system has not sent yet.
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

// cut closes the connection. Pending requests fail with cause.
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

// closedBy returns the error for a connection that the client has closed with err, or the server if err is nil.
func closedBy(err error) error {
	if err == nil {
		return errors.New("the server has closed the connection")
	}
	return fmt.Errorf("the connection is lost: %w", err)
}

// wrong handles an asynchronous error from the server. If the server denies publishing to a subject, only the pending request to that
// subject fails. Any other error affects the whole connection.
func (c *conn) wrong(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		c.cut(err)
		return
	}
	denied := deniedSubject.FindStringSubmatch(err.Error())
	if denied == nil { // the user may not subscribe to the subject of responses
		c.cut(fmt.Errorf("responses can't be received: %w", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.asked[denied[1]]; end != nil {
		end(&deniedError{denied[1]})
	}
}

var deniedSubject = regexp.MustCompile(`(?i)Publish to "([^"]*)"`)

// deniedError reports that the server does not permit this user to publish to a subject.
type deniedError struct{ subject string }

func (e *deniedError) Error() string {
	return "the server does not permit this user to publish to " + e.subject
}

// ask calls question, which makes a request to a subject, and cancels it if the server denies that subject or the connection is cut.
// There must be only one request to a subject at a time.
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
	case c.alive.Err() != nil: // ctx is about to be cancelled
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

// publish publishes a message, and returns nil once it is stored. If ctx is done before that, it cuts the connection.
func (c *conn) publish(ctx context.Context, m *nats.Msg) error {
	// A message that was given up must not be sent later.
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
		cut() // AfterFunc may not have finished, and the next message must not use this connection
	}
	return err
}
