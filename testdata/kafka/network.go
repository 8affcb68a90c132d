package main

import (
	"net"
	"sync"
)

// network sits between the clients and the broker. The zero value forwards everything.
type network struct {
	mu         sync.Mutex
	mute, deaf bool
	moves      chan struct{} // closed when the fields above change
	conns      []net.Conn
	listeners  []net.Listener // one per broker
}

func (n *network) listen(kind, address string) (net.Listener, error) {
	l, err := net.Listen(kind, address)
	n.listeners = append(n.listeners, l)
	return &listener{l, n}, err
}

func (n *network) set(mute, deaf bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mute, n.deaf = mute, deaf
	if n.moves != nil {
		close(n.moves)
		n.moves = nil
	}
}

func (n *network) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// pass blocks while stopped returns true.
func (n *network) pass(stopped func() bool) {
	for {
		n.mu.Lock()
		if !stopped() {
			n.mu.Unlock()
			return
		}
		if n.moves == nil {
			n.moves = make(chan struct{})
		}
		moves := n.moves
		n.mu.Unlock()
		<-moves
	}
}

type listener struct {
	net.Listener
	network *network
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	l.network.conns = append(l.network.conns, c)
	return &conn{c, l.network}, nil
}

type conn struct {
	net.Conn
	network *network
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.network.pass(func() bool { return c.network.mute })
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.network.pass(func() bool { return c.network.deaf })
	return c.Conn.Write(p)
}
