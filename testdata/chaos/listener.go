package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// listener accepts the connections to the proxy, and can refuse, reset and freeze them.
type listener struct {
	address string

	mu      sync.Mutex
	inner   net.Listener
	closed  bool
	conns   map[*conn]bool
	changed sync.Cond // signals changes of inner and closed
}

func listen() (*listener, error) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listener{address: inner.Addr().String(), inner: inner, conns: map[*conn]bool{}}
	l.changed.L = &l.mu
	return l, nil
}

// Accept implements net.Listener. While connections are refused, it waits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner := l.current()
		if inner == nil {
			return nil, net.ErrClosed
		}
		accepted, err := inner.Accept()
		if err != nil {
			continue // closed: wait for the next inner listener
		}
		c := &conn{TCPConn: accepted.(*net.TCPConn), listener: l, thawed: closedChan}
		l.mu.Lock()
		l.conns[c] = true
		l.mu.Unlock()
		return c, nil
	}
}

// current waits for an open listener. It returns nil after Close.
func (l *listener) current() net.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.inner == nil && !l.closed {
		l.changed.Wait()
	}
	return l.inner
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.refuse()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr {
	address, _ := net.ResolveTCPAddr("tcp4", l.address) // formatted by listen, so it is valid
	return address
}

// refuse closes the port, so that the system refuses connections until readmit.
func (l *listener) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner != nil {
		l.inner.Close()
		l.inner = nil
	}
}

// readmit accepts connections again, at the same address.
func (l *listener) readmit(ctx context.Context) error {
	for {
		inner, err := net.Listen("tcp4", l.address)
		if err == nil {
			l.mu.Lock()
			l.inner = inner
			l.changed.Broadcast()
			l.mu.Unlock()
			return nil
		}
		select { // a client that dials may hold the port for a moment
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// reset closes all connections with RST. It returns their number.
func (l *listener) reset() int {
	open := l.open()
	for _, c := range open {
		c.SetLinger(0)
		c.Close()
	}
	return len(open)
}

// freeze keeps the current connections open but passes no data in either direction, until the returned function resets
// them.
func (l *listener) freeze() (thaw func()) {
	frozen := l.open()
	thawed := make(chan struct{})
	for _, c := range frozen {
		c.freeze(thawed)
	}
	return func() {
		for _, c := range frozen {
			c.SetLinger(0)
			c.Close()
		}
		close(thawed)
	}
}

func (l *listener) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []*conn
	for c := range l.conns {
		open = append(open, c)
	}
	return open
}

// conn is a connection to the proxy.
type conn struct {
	*net.TCPConn
	listener *listener

	mu     sync.Mutex
	thawed <-chan struct{} // closed unless frozen
}

var closedChan = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *conn) freeze(thawed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thawed = thawed
}

func (c *conn) awaitThaw() {
	c.mu.Lock()
	thawed := c.thawed
	c.mu.Unlock()
	<-thawed
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.awaitThaw()
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.awaitThaw()
	return c.TCPConn.Write(p)
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}
