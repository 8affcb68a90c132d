package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// deadline is how long a test waits for an expected message.
const deadline = time.Minute

var (
	pods    = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}
	secrets = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true)}
	started = time.UnixMilli(1_789_000_000_000)
)

// newHub returns a Hub that masks Secrets, and knows noise.
func newHub() *Hub {
	return New(Options{
		Targets: []event.Target{pods}, Title: "pods", Server: "https://server", Version: "test",
		Compare: change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true, Key: []byte("k")}},
	})
}

// object returns an object, whose content is a template with its identity filled in.
func object(kind, name, uid, version, rest string) event.Object {
	return objectOf("v1", kind, name, uid, version, rest)
}

func objectOf(apiVersion, kind, name, uid, version, rest string) event.Object {
	id := &event.Identity{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":%q,"creationTimestamp":"2026-01-02T03:04:05Z"%s}`,
		apiVersion, kind, name, uid, version, rest))
}

// pod returns a pod in a phase.
func pod(name, uid, version, phase string) event.Object {
	return object("Pod", name, uid, version, `,"labels":{"app":"`+name+`"}},"spec":{},"status":{"phase":"`+phase+`"}`)
}

func at(seconds int) time.Time { return started.Add(time.Duration(seconds) * time.Second) }

func added(t event.Target, o event.Object, second int) event.Event {
	return event.Event{Type: event.Added, Target: t, Object: o, Time: at(second)}
}

func modified(t event.Target, old, now event.Object, second int) event.Event {
	return event.Event{Type: event.Modified, Target: t, Object: now, Old: old, Time: at(second)}
}

func deleted(t event.Target, o event.Object, second int) event.Event {
	return event.Event{Type: event.Deleted, Target: t, Object: o, Time: at(second)}
}

// deliver gives events to a hub.
func deliver(t testing.TB, h *Hub, batch ...event.Event) {
	t.Helper()
	if err := h.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// message is a decoded message or response.
type message map[string]any

// text returns a member as text.
func (m message) text(name string) string { return fmt.Sprint(m[name]) }

func (m message) number(name string) uint64 {
	n, _ := m[name].(float64)
	return uint64(n)
}

func decode(t testing.TB, text []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%v: %.200q", err, text)
	}
	return m
}

// served is a page on its own port.
type served struct {
	*Server
	hub  *Hub
	host string
}

// serve serves a hub until the test has ended.
func serve(t testing.TB, h *Hub) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Server: NewServer(h, ServerOptions{Listener: tight{listener}}), hub: h, host: listener.Addr().String()}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		s.Close("the test has ended")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// tight accepts connections with small system buffers, so that a peer that does not read is noticed after kilobytes
// rather than megabytes.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(16 << 10)
	}
	return conn, err
}

// request creates an authorized request.
func (s *served) request(t testing.TB, method, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	return r
}

// send sends a request, and returns the answer with its body read.
func send(t testing.TB, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: deadline}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

// get requests a path, which must exist.
func (s *served) get(t testing.TB, path string) message {
	t.Helper()
	response, body := send(t, s.request(t, "GET", path))
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, response.Status, body)
	}
	return decode(t, body)
}

// dialed is a viewer.
type dialed struct {
	*websocket.Conn
	t testing.TB
}

// dial connects a viewer; query is of /ws.
func (s *served) dial(t testing.TB, query string) *dialed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+s.host+"/ws"+query, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(8 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return &dialed{conn, t}
}

// read returns the next message, whatever it is.
func (d *dialed) read() message {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), deadline)
	defer cancel()
	_, text, err := d.Read(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	return decode(d.t, text)
}

// isUnnumbered reports whether a message may come between any two others.
func isUnnumbered(m message) bool { return m["type"] == "ping" || m["type"] == "problems" }

// next returns the next message of a type, and fails on others, but for those without a number.
func (d *dialed) next(kind string) message {
	d.t.Helper()
	for {
		m := d.read()
		if m["type"] == kind {
			return m
		}
		if !isUnnumbered(m) {
			d.t.Fatalf("%v instead of %s", m, kind)
		}
	}
}

// rows reads the parts of a snapshot, and returns all rows.
func (d *dialed) rows() (rows []message) {
	d.t.Helper()
	for part := uint64(0); ; part++ {
		m := d.next("snapshot")
		if m.number("part") != part {
			d.t.Fatalf("part %v instead of %d", m["part"], part)
		}
		for _, r := range m["rows"].([]any) {
			rows = append(rows, r.(map[string]any))
		}
		if m["last"] == true {
			return rows
		}
	}
}

// say sends text to the server.
func (d *dialed) say(text string) {
	d.t.Helper()
	if err := d.Write(d.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		d.t.Fatal(err)
	}
}

// noneLeft fails if more goroutines remain than before the test. It waits for those that are about to end.
func noneLeft(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(deadline); ; runtime.Gosched() {
		if runtime.NumGoroutine() <= before {
			return
		}
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}
