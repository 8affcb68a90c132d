package jetstream

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
	"dwatch/testdata/testenv"
)

// patience is how long a test waits for a condition.
const patience = time.Minute

// newServer starts a NATS server.
func newServer(t *testing.T, flags ...string) *testenv.NATS {
	t.Helper()
	s, err := testenv.StartNATS(t.TempDir(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// configured starts a NATS server with a configuration file.
func configured(t *testing.T, text string) *testenv.NATS {
	t.Helper()
	return newServer(t, "-c", file(t, "server.conf", text))
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	mustWrite(t, path, []byte(text))
	return path
}

// client returns a JetStream client that is independent of a Receiver.
func client(t *testing.T, s *testenv.NATS, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(s.Address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// newStream creates or updates the stream S.
func newStream(t *testing.T, js jetstream.JetStream, c jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	c.Name = "S"
	if c.Subjects == nil {
		c.Subjects = []string{"d.>"}
	}
	s, err := js.CreateOrUpdateStream(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stored returns the messages of a stream, in order.
func stored(t *testing.T, s jetstream.Stream) (messages []*jetstream.RawStreamMsg) {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := info.State.FirstSeq; i <= info.State.LastSeq && info.State.Msgs > 0; i++ {
		m, err := s.GetMsg(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}

// notes collects the lines that a Receiver logs.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprint(n.lines)
}

// within returns the context of an attempt with a deadline.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, end := deliver.WithDeadline(t.Context(), d)
	t.Cleanup(end)
	return ctx
}

// newReceiver returns a Receiver for an address, and its notes. It sets Server and Prefix if they are empty.
func newReceiver(t *testing.T, address string, o Options) (*Receiver, *notes) {
	t.Helper()
	if o.Server == "" {
		o.Server = "nats://" + address
	}
	if o.Prefix == "" {
		o.Prefix = "d"
	}
	noted := &notes{}
	o.Log = noted.add
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.SetSource("urn:uuid:1")
	t.Cleanup(r.Close)
	return r, noted
}

// pod returns a message about a pod.
func pod(name string, version int) *deliver.Message {
	m := message("", "pods", "ns", name)
	m.ID = fmt.Sprintf("uid-%s/%d/MODIFIED", name, version)
	m.Type, m.APIVersion, m.Kind, m.ResourceVersion = "MODIFIED", "v1", "Pod", fmt.Sprint(version)
	m.Time = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	m.Body = fmt.Appendf(nil, "{\"n\":%d}\n", version)
	return m
}

// proxy forwards TCP connections to a server, and can stop forwarding in both directions.
type proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	deaf    bool          // data from the server is delayed
	mute    bool          // data from the client is delayed
	changed chan struct{} // closed when deaf or mute changes
	conns   []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, changed: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { p.serve(&all) })
	t.Cleanup(func() {
		l.Close()
		p.set(false, false)
		p.drop()
		all.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve(all *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		all.Go(func() { p.forward(server, client, func() bool { return p.mute }) })
		all.Go(func() { p.forward(client, server, func() bool { return p.deaf }) })
	}
}

// forward copies data, and waits while isStopped returns true. It also forwards data that it has read before from was closed, as a
// network would.
func (p *proxy) forward(to, from net.Conn, isStopped func() bool) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for {
			p.mu.Lock()
			stopped, changed := isStopped(), p.changed
			p.mu.Unlock()
			if !stopped {
				break
			}
			<-changed
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// set stops or resumes forwarding. mute is for data from the client, and deaf for data from the server.
func (p *proxy) set(mute, deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute, p.deaf = mute, deaf
	close(p.changed)
	p.changed = make(chan struct{})
}

// isUsed reports whether there were connections since the last drop.
func (p *proxy) isUsed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) > 0
}

// drop closes all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// eventually waits until holds returns true. what describes the condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("did not happen within %s: %s", patience, what)
		}
	}
}

func mustWrite(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
