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
	nc *nats.Conn
	js jetstream.JetStream
	// alive ends when it is cut off, with the cause.
	alive context.Context
	end   context.CancelCauseFunc
	// hasStream: a stream takes the subjects, all of them or some.
	hasStream, hasAll atomic.Bool

	mu      sync.Mutex
	socket  net.Conn
	answers map[string]chan error // who waits for one to what was sent to a subject
}

func (c *conn) isAlive() bool { return c != nil && c.alive.Err() == nil }

func (c *conn) isReady() bool { return c.isAlive() && c.hasStream.Load() }

// dial makes a connection.
func (r *Receiver) dial(ctx context.Context) (*conn, error) {
	c := &conn{answers: map[string]chan error{}}
	c.alive, c.end = context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, c.cutSocket) // which ends what the client waits for
	defer stop()
	dialer := &dialer{ctx: ctx, conn: c}
	nc, err := nats.Connect(r.Server, append([]nats.Option{
		nats.SetCustomDialer(dialer),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.wrong(err) }),
		nats.ClosedHandler(func(nc *nats.Conn) { c.cut(closedBy(nc.LastError())) }),
	}, r.options...)...)
	if err != nil {
		return nil, r.notConnected(dialer.err, err)
	}
	c.mu.Lock()
	c.nc = nc
	c.mu.Unlock()
	if c.js, err = jetstream.New(nc, jetstream.WithPublishAsyncTimeout(r.Deadline)); err != nil {
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
	if answer := c.answers[denied[1]]; answer != nil {
		select {
		case answer <- &deniedError{denied[1]}:
		default: // it has one
		}
	}
}

var deniedSubject = regexp.MustCompile(`(?i)Publish to "([^"]*)"`)

// deniedError: the server does not let this user publish to a subject.
type deniedError struct{ subject string }

func (e *deniedError) Error() string {
	return "the server does not permit this user to publish to " + e.subject
}

// await returns what gets an error if the server does not permit to publish to a subject,
// until done is called. One at a time waits for a subject.
func (c *conn) await(subject string) (denied <-chan error, done func()) {
	answer := make(chan error, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[subject] = answer
	return answer, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.answers, subject)
	}
}

// publish publishes a message, and returns nil when it is stored.
func (c *conn) publish(ctx context.Context, m *nats.Msg) error {
	denied, done := c.await(m.Subject)
	defer done()
	// At the end nothing may be left that is sent later.
	stop := context.AfterFunc(ctx, func() { c.cut(context.Cause(ctx)) })
	defer stop()
	future, err := c.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
	if err != nil {
		return err
	}
	select {
	case <-future.Ok():
		return nil
	case err = <-future.Err():
	case err = <-denied:
	case <-c.alive.Done():
		err = &deliver.DownError{Err: context.Cause(c.alive)}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, jetstream.ErrAsyncPublishTimeout) {
		c.cut(err) // or it would be stored later, perhaps
	}
	return err
}
