package page

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// counted counts the received bytes.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// dialCompressing connects a viewer that accepts compressed messages, and counts the received bytes.
func (s *served) dialCompressing(t *testing.T) (*dialed, *atomic.Int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var bytes atomic.Int64
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counted{conn, &bytes}, err
	}
	conn, _, err := websocket.Dial(ctx, "ws://"+s.host+"/ws", &websocket.DialOptions{
		HTTPClient:           &http.Client{Transport: &http.Transport{DialContext: dial}},
		HTTPHeader:           http.Header{"Authorization": {"Bearer " + s.token}},
		CompressionMode:      websocket.CompressionNoContextTakeover,
		CompressionThreshold: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(8 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return &dialed{conn, t}, &bytes
}

// TestCompression tests that a snapshot is compressed, that a change is not, and that the size limit of messages to the
// server applies after decompression.
func TestCompression(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	for i := range 1000 {
		deliver(t, h, added(pods, pod(fmt.Sprint("web-", i), fmt.Sprint("u", i), "1", "Running"), i))
	}
	d, onWire := s.dialCompressing(t)
	d.next("hello")
	rows := d.rows()
	if plain := int64(len(encode(rows))); len(rows) != 1000 || onWire.Load() > plain/5 {
		t.Errorf("%d rows of %d bytes are %d on the wire", len(rows), plain, onWire.Load())
	}
	before := onWire.Load()
	deliver(t, h, modified(pods, pod("web-1", "u1", "1", "Running"), pod("web-1", "u1", "2", "Failed"), 2000))
	if plain := int64(len(encode(d.next("change")))); onWire.Load()-before < plain/2 {
		t.Errorf("a change of %d bytes is %d on the wire: it was compressed", plain, onWire.Load()-before)
	}
	d.say(`{"type":"where","id":1,"expr":"` + strings.Repeat("x", 4*maxFrame) + `"}`)
	for {
		if _, _, err := d.Read(t.Context()); err != nil {
			if code := websocket.CloseStatus(err); code != websocket.StatusMessageTooBig {
				t.Errorf("a message that is too large when decompressed: %v", err)
			}
			return
		}
	}
}
