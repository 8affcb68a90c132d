package page

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dwatch/watcher/event"
)

// TestSocket tests what a browser gets when it connects and reconnects.
func TestSocket(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	d := s.dial(t, "")
	hello := d.next("hello")
	if rows := d.rows(); len(rows) != 1 || rows[0]["key"] != "pods/u1" || fmt.Sprint(rows[0]["segments"]) != "[[1.789e+12 InProgress]]" {
		t.Fatalf("%v", rows)
	}
	churned(t, h, o, 2)
	last := d.next("change")
	d.CloseNow()
	again := s.dial(t, fmt.Sprintf("?stream=%s&since=%d", hello["stream"], last.number("seq")))
	if m := again.next("hello"); m["resumed"] != true {
		t.Errorf("%v", m)
	}
	if m := again.next("change"); m.number("seq") != last.number("seq")+1 {
		t.Errorf("%v", m)
	}
	again.say(`{"type":"where","id":3,"expr":"true"}`)
	if m := again.next("where"); keysOf(m) != "pods/u1" || m.number("id") != 3 {
		t.Errorf("%v", m)
	}
	if m := again.next("ping"); m.number("seq") != h.log.last || m.number("lastEvent") != uint64(at(1).UnixMilli()) {
		t.Errorf("%v", m)
	}
}

func keysOf(m message) string {
	var all []string
	for _, key := range m["keys"].([]any) {
		all = append(all, key.(string))
	}
	return strings.Join(all, " ")
}

// TestMistakes tests that the server disconnects a viewer that sends invalid messages, but not the others.
func TestMistakes(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	tests := []struct {
		what string
		kind websocket.MessageType
		text string
		code websocket.StatusCode
	}{
		{"not JSON", websocket.MessageText, "{", websocket.StatusPolicyViolation},
		{"a list", websocket.MessageText, "[]", websocket.StatusPolicyViolation},
		{"nothing", websocket.MessageText, "", websocket.StatusPolicyViolation},
		{"another type", websocket.MessageText, `{"type":"delete"}`, websocket.StatusPolicyViolation},
		{"an id that is none", websocket.MessageText, `{"type":"where","id":"x"}`, websocket.StatusPolicyViolation},
		{"bytes", websocket.MessageBinary, `{"type":"where","id":1,"expr":"true"}`, websocket.StatusPolicyViolation},
		{"too much", websocket.MessageText, `{"type":"where","id":1,"expr":"` + strings.Repeat("x", maxFrame) + `"}`, websocket.StatusMessageTooBig},
	}
	witness := s.dial(t, "")
	witness.next("hello")
	witness.rows()
	for _, test := range tests {
		d := s.dial(t, "")
		d.next("hello")
		d.rows()
		if err := d.Write(t.Context(), test.kind, []byte(test.text)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		var err error
		for err == nil { // pings may come before it
			_, _, err = d.Read(ctx)
		}
		if websocket.CloseStatus(err) != test.code {
			t.Errorf("%s: %v", test.what, err)
		}
	}
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running"), 0))
	witness.next("change")
}

// handshake opens a WebSocket by hand.
func handshake(t *testing.T, s *served) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", s.host, s.token)
	conn.SetReadDeadline(time.Now().Add(deadline))
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v: %v", response, err)
	}
	return conn, r
}

// TestMalformedFrames tests that invalid frames end only their own connection.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	for what, frame := range map[string][]byte{
		"not masked":         {0x81, 0x02, '{', '}'},
		"reserved bits":      {0xf1, 0x80, 0, 0, 0, 0},
		"reserved code":      {0x83, 0x80, 0, 0, 0, 0},
		"no first frame":     {0x80, 0x80, 0, 0, 0, 0},
		"a long ping":        {0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0},
		"a ping in parts":    {0x09, 0x80, 0, 0, 0, 0},
		"an enormous length": {0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"a negative length":  {0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"bad close":          {0x88, 0x81, 0, 0, 0, 0, 0},
	} {
		conn, r := handshake(t, s)
		conn.Write(append(frame, make([]byte, 2*maxFrame)...)) // the server may close the connection before the end
		if _, err := io.Copy(io.Discard, r); err != nil && isTimeout(err) {
			t.Errorf("%s: the connection is still open", what)
		}
	}
	if m := s.get(t, "/api/objects"); m["total"] != 0.0 {
		t.Errorf("%v", m)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// TestNeverReads tests that a viewer that reads nothing delays neither the stream nor other viewers, and is
// disconnected.
func TestNeverReads(t *testing.T) {
	t.Parallel()
	h := newHub()
	h.log.max = 1 << 20
	s := serve(t, h)
	s.patience = 3 * time.Second // this also applies to the other reader, and
	deaf, _ := handshake(t, s)
	if err := deaf.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil { // small, like the buffer of the other side;
		t.Fatal(err)
	}
	reader := s.dial(t, "")
	reader.next("hello")
	reader.rows()
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	reader.next("change")
	viewers := func() int { return len(s.viewers) }
	if viewers() != 2 {
		t.Fatalf("%d viewers", viewers())
	}
	long, version := strings.Repeat("a long message ", 100), 1
	for end := time.Now().Add(deadline); viewers() == 2; {
		for range 100 {
			version++
			now := object("Pod", "a", "u1", fmt.Sprint(version), fmt.Sprintf(`},"status":{"message":"%d %s"}`, version, long))
			deliver(t, h, modified(pods, o, now, version))
			o = now
		}
		for seq := uint64(0); seq < h.log.last; {
			seq = reader.next("change").number("seq")
		}
		if time.Now().After(end) {
			t.Fatal("it is not cut off")
		}
	}
	deaf.Close()
}

// TestManyConnections tests the maximum number of viewers, and that no goroutine or connection remains when they have
// gone.
func TestManyConnections(t *testing.T) {
	before := runtime.NumGoroutine()
	h := newHub()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Server: NewServer(h, ServerOptions{Listener: listener}), hub: h, host: listener.Addr().String()}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	var all []*dialed
	for range maxViewers {
		d := s.dial(t, "")
		d.next("hello")
		d.rows()
		all = append(all, d)
	}
	if response, body := send(t, s.request(t, "GET", "/api/events")); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one too many: %s: %s", response.Status, body)
	}
	for _, d := range all[:50] { // some disconnect by themselves
		d.CloseNow()
	}
	deliver(t, h, modified(pods, o, pod("a", "u1", "2", "Pending"), 1))
	for _, d := range all[50:] {
		d.next("change")
	}
	closed := make(chan struct{})
	go func() { defer close(closed); s.Close("the run has ended") }()
	for _, d := range all[50:] {
		if m := d.next("bye"); m["reason"] != "the run has ended" {
			t.Errorf("%v", m)
		}
		if _, _, err := d.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("after the goodbye: %v", err)
		}
		d.CloseNow()
	}
	<-closed
	if err := <-ended; err != nil {
		t.Error(err)
	}
	noneLeft(t, before)
}

// TestPromptEnd tests that connections without requests, as browsers open them, do not delay the end.
func TestPromptEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	for range 3 {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	s.get(t, "/api/objects")
	begin := time.Now()
	s.Close("the run has ended")
	if took := time.Since(begin); took >= goodbye {
		t.Errorf("it took %v", took)
	}
}

// hostile is text with a special meaning in HTML, in JSON or at a terminal, and with an invalid code point.
const hostile = "<script>alert(1)</script>\\u0000\\u001b[31m\\u202e\\u2028\\ud800 ' \\\" </textarea>"

// TestHostileObject tests that messages about an object with hostile content are valid and limited in size.
func TestHostileObject(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	d := s.dial(t, "")
	d.next("hello")
	d.rows()
	var labels strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&labels, `"label-%d":"%s",`, i, hostile)
	}
	content := func(filler string) event.Object {
		return object("Pod", "a", "u1", "1", `,"labels":{`+strings.TrimSuffix(labels.String(), ",")+`},"ownerReferences":[`+
			strings.TrimSuffix(strings.Repeat(`{"kind":"`+hostile+`","name":"n","uid":"o"},`, 100), ",")+`]},`+
			`"status":{"phase":"`+hostile+`","conditions":[{"type":"Ready","status":"False","message":"`+strings.Repeat(hostile, 100)+`"}]},`+
			`"data":{"big":"`+strings.Repeat(filler, 1<<20)+`","text":"`+filler+hostile+`"}`)
	}
	cells := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat(hostile, 20)+`",`, 200), ",")
	columns := strings.TrimSuffix(strings.Repeat(`{"name":"`+strings.Repeat(hostile, 20)+`","type":"string","format":"","priority":0},`, 200), ",")
	row := `{"columnDefinitions":[` + columns + `],"cells":[` + cells + `]}`
	before, now := content("x"), content("y")
	deliver(t, h, added(pods, before.WithRow(row), 0), modified(pods, before, now.WithRow(row), 1))
	d.next("resource")
	for first := true; ; first = false {
		_, text, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 64<<10 {
			t.Errorf("a message has %d bytes", len(text))
		}
		if bytes.ContainsAny(text, "<>\x00\x1b\n\u2028") {
			t.Errorf("%.300q", text)
		}
		if !first { // the row of the change has no other hostile members
			break
		}
		r := message(decode(t, text)["row"].(map[string]any))
		if n := len(r["labels"].(map[string]any)); n > maxLabels || r.number("labelsMore") != uint64(5000-n) {
			t.Errorf("%d labels, %v more", n, r["labelsMore"])
		}
		if n := len(r["owners"].([]any)); n != maxOwners {
			t.Errorf("%d owners", n)
		}
	}
	whole := s.get(t, "/api/object?key=pods/u1")
	if big := whole["object"].(map[string]any)["data"].(map[string]any)["big"].(string); len(big) != 1<<20 {
		t.Errorf("the object has %d bytes in data.big", len(big))
	}
	if whole["yamlCut"] != nil || !strings.Contains(whole.text("yaml"), "alert(1)") {
		t.Errorf("yaml: %.200s", whole["yaml"])
	}
}

// TestOddNumber tests that an object that cannot be decoded is shown as far as possible.
func TestOddNumber(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	deliver(t, h, added(pods, object("Pod", "a", "u1", "1", `},"status":{"n":1e999}`), 0))
	rows := s.get(t, "/api/objects")
	if status := rows.text("items"); !strings.Contains(status, "Unknown") {
		t.Errorf("%v", rows)
	}
	response, body := send(t, s.request(t, "GET", "/api/object?key=pods/u1"))
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("1e999")) {
		t.Errorf("%s: %s", response.Status, body)
	}
}
