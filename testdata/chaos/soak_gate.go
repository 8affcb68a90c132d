package main

import (
	"io"
	"net"
)

// gate is a TCP proxy in front of a server. It does not change the data.
type gate struct {
	*listener
	to string // HOST:PORT
}

func newGate(to string) (*gate, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	g := &gate{listener: l, to: to}
	go g.run() // until Close
	return g, nil
}

func (g *gate) run() {
	for {
		client, err := g.Accept()
		if err != nil {
			return
		}
		go g.pass(client)
	}
}

func (g *gate) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp4", g.to)
	if err != nil {
		return // the server is down
	}
	defer server.Close()
	go func() {
		io.Copy(server, client)
		server.Close()
	}()
	io.Copy(client, server)
}
