package webhook

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
	"dwatch/output/deliver/secret"
	"dwatch/watcher/event"
)

// message returns a message about a Deployment.
func message() *deliver.Message {
	return &deliver.Message{
		ID:       "uid-1/7/MODIFIED",
		Type:     event.Modified,
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Identity: event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web", UID: "uid-1", ResourceVersion: "7"},
		Time:     time.Date(2026, 1, 31, 9, 0, 0, 250e6, time.UTC),
		Body:     []byte(`{"type":"MODIFIED","object":{"a":"<&>"}}` + "\n"),
	}
}

// to returns a Receiver for a server. change changes the options, and may be nil.
func to(t testing.TB, address string, change func(*Options)) *Receiver {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{URL: u, UserAgent: "dwatch/test"}
	if change != nil {
		change(&o)
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.SetSource("urn:uuid:5b1f6a0e-0000-4000-8000-000000000000")
	return w
}

// serve starts a server and returns its URL.
func serve(t testing.TB, f http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// kind returns what the result of Send means to the queue: delivered, refused, down with the delay, or again.
func kind(err error) string {
	refused, isRefused := errors.AsType[*deliver.RefusedError](err)
	down, isDown := errors.AsType[*deliver.DownError](err)
	switch {
	case err == nil:
		return "delivered"
	case isRefused && refused.Err != nil:
		return "refused"
	case isDown:
		return fmt.Sprintf("down %s", down.RetryAfter)
	}
	return "again"
}

// TestStatusCodes checks what each status code and the header Retry-After mean to the queue.
func TestStatusCodes(t *testing.T) {
	for _, test := range []struct {
		code       int
		retryAfter string
		want       string
	}{
		{200, "", "delivered"}, {201, "", "delivered"}, {202, "", "delivered"}, {204, "", "delivered"}, {299, "", "delivered"},
		{400, "", "refused"}, {404, "", "refused"}, {410, "", "refused"}, {413, "", "refused"}, {413, "5", "refused"},
		{415, "", "refused"}, {422, "", "refused"},
		{301, "", "again"}, {302, "", "again"}, {304, "", "again"}, {307, "", "again"}, {308, "", "again"},
		{401, "", "down 0s"}, {407, "", "down 0s"}, {402, "", "again"}, {403, "", "again"}, {405, "", "again"}, {408, "", "again"}, {409, "", "again"},
		{425, "", "again"}, {429, "", "again"}, {429, "30", "down 30s"}, {418, "", "again"},
		{500, "", "again"}, {502, "", "again"}, {503, "", "again"}, {503, "0", "down 0s"}, {503, "120", "down 2m0s"}, {504, "", "again"}, {599, "", "again"},
		{503, "99999999999999999", "down 1h0m0s"}, {503, "-1", "again"}, {503, "soon", "again"}, {503, "99999999999999999999999", "again"},
	} {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if test.retryAfter != "" {
				w.Header().Set("Retry-After", test.retryAfter)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(test.code)
		})
		err := to(t, address, nil).Send(t.Context(), message())
		if got := kind(err); got != test.want {
			t.Errorf("%d with Retry-After %q: got %s, want %s (%v)", test.code, test.retryAfter, got, test.want, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("HTTP %d", test.code)) {
			t.Errorf("%d: got error %v", test.code, err)
		}
	}
}

// TestRetryAfterDate checks that a date in Retry-After is relative to the clock of the server, if its response has a Date.
func TestRetryAfterDate(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, test := range []struct {
		after, date string
		want        time.Duration
	}{
		{at(time.Minute), "", time.Minute},
		{at(time.Minute), at(30 * time.Second), 30 * time.Second},
		{at(-time.Minute), "", 0},
		{at(24 * time.Hour), "", time.Hour},
		{now.Add(time.Minute).Format(time.RFC850), "", time.Minute},
	} {
		got, asked := retryAfter(http.Header{"Retry-After": {test.after}, "Date": {test.date}}, now)
		if got != test.want || !asked {
			t.Errorf("Retry-After %s, Date %s: got %s, %t, want %s", test.after, test.date, got, asked, test.want)
		}
	}
}

// TestNoRedirect checks that redirects are not followed, and that the error does not contain their target.
func TestNoRedirect(t *testing.T) {
	var followed atomic.Int32
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { followed.Add(1) })
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"?token=hunter2", http.StatusTemporaryRedirect)
	})
	err := to(t, address, nil).Send(t.Context(), message())
	if err == nil || followed.Load() != 0 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, and %d requests to the target of the redirect, want none", err, followed.Load())
	}
}

// TestConnectionReuse checks that consecutive requests use the same connection, even if responses have a body.
func TestConnectionReuse(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader([]int{200, 500, 404}[opened.Load()%3])
		io.WriteString(w, strings.Repeat("x", 100<<10))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	w := to(t, server.URL, nil)
	for range 5 {
		_ = w.Send(t.Context(), message())
	}
	if opened.Load() != 1 {
		t.Errorf("got %d connections, want 1", opened.Load())
	}
}

// TestEndlessResponse checks that Send does not read an endless body.
func TestEndlessResponse(t *testing.T) {
	ended := make(chan struct{})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	if err := to(t, address, nil).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestStalledResponse checks that Send does not wait for the rest of a body that stalls.
func TestStalledResponse(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("taken"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if err := to(t, address, nil).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
}

// TestNotHTTP checks that a response that is not HTTP, or that switches to another protocol, fails only the attempt. The error must
// not quote the response, which may echo the request.
func TestNotHTTP(t *testing.T) {
	for name, respond := range map[string]func(net.Conn){
		"it does not answer in HTTP": func(c net.Conn) { io.Copy(c, c) },
		"HTTP 101 Switching Protocols": func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				t.Error(err)
			}
			io.WriteString(c, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			io.Copy(io.Discard, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				if c, err := listener.Accept(); err == nil {
					respond(c)
					c.Close()
				}
			}()
			err = to(t, "http://"+listener.Addr().String()+"/hunter2", nil).Send(t.Context(), message())
			if kind(err) != "again" || err.Error() != name {
				t.Errorf("got %s: %v, want again: %s", kind(err), err, name)
			}
		})
	}
}

// TestNoResponse checks the errors for requests without a response. They must not contain the path or the query of the address.
func TestNoResponse(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	hung := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the context is done only after that
		<-r.Context().Done()
	}
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, test := range map[string]struct {
		address    string
		within     time.Duration
		want, text string
	}{
		"refused": {closed.URL, 0, "down 0s", "connect: connection refused"},
		"hangs":   {serve(t, hung), 50 * time.Millisecond, "again", "no answer within 50ms (--deadline)"},
		"no TLS":  {"https" + strings.TrimPrefix(plain, "http"), 0, "down 0s", "it does not speak TLS"},
		"breaks": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			panic(http.ErrAbortHandler)
		}), 0, "again", "it closed the connection without an answer"},
		"no host": {"http://receiver.invalid", 0, "down 0s", "lookup receiver.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := deliver.WithDeadline(t.Context(), test.within)
			defer end()
			err := to(t, test.address+"/hunter2?hunter2", nil).Send(ctx, message())
			if kind(err) != test.want || !strings.Contains(fmt.Sprint(err), test.text) || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("got %s: %v, want %s: %s", kind(err), err, test.want, test.text)
			}
		})
	}
}

// TestCancelled checks that Send returns when its context is cancelled.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	if err := to(t, address, nil).Send(ctx, message()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestSignVector checks the test vector of the libraries of the Standard Webhooks project.
func TestSignVector(t *testing.T) {
	secrets, err := parseSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	sign(header, secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got := header.Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("got signature %s", got)
	}
	if id, at := header.Get("webhook-id"), header.Get("webhook-timestamp"); id != "msg_p5jXN8AQM9LWM0D4loKWxJek" || at != "1614265330" {
		t.Errorf("got id %s, timestamp %s", id, at)
	}
}

// TestSigned checks in both modes that requests have a valid signature for each secret.
func TestSigned(t *testing.T) {
	const first, second = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	for _, structured := range []bool{false, true} {
		var header http.Header
		var body []byte
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			header = r.Header
			body, _ = io.ReadAll(r.Body)
		})
		w := to(t, address, func(o *Options) {
			o.Format, o.Signing = form(structured), secret.Source{Name: "secrets", Text: first + "\n" + second + "\n"}
		})
		m := message()
		m.ID = "widgets.example.com/a b/7/ADDED"
		if err := w.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if _, sent := header["Idempotency-Key"]; sent {
			t.Error("the header Idempotency-Key was sent, which is only for the transport")
		}
		id := header.Get("Webhook-Id")
		if id != "widgets%2Eexample%2Ecom/a%20b/7/ADDED" {
			t.Errorf("got id %s", id)
		}
		found := strings.Fields(header.Get("Webhook-Signature"))
		for i, secret := range []string{first, second} {
			key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 2 || found[i] != signature(key, id, header.Get("Webhook-Timestamp"), body) {
				t.Errorf("structured %t: signatures %q are not valid for secret %d", structured, found, i+1)
			}
		}
	}
}

// TestParseSecrets checks valid and invalid secrets. Errors must not contain them.
func TestParseSecrets(t *testing.T) {
	good := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	for text, n := range map[string]int{
		good: 1, good + "\n": 1, good + " " + good: 2, "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 64)): 1,
	} {
		if secrets, err := parseSecrets(text); err != nil || len(secrets) != n {
			t.Errorf("%q: got %d secrets, %v, want %d", text, len(secrets), err, n)
		}
	}
	for _, text := range []string{
		"", "\n", good[6:], "hunter2", "whsec_hunter2", good + " hunter2",
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)), "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)),
	} {
		if _, err := parseSecrets(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want an error without the secret", text, err)
		}
	}
}

// TestCredentialsChange checks that a file is read again when it changes, also if a symbolic link to it is replaced, as in a mounted
// Secret. A pipe is read once.
func TestCredentialsChange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "first\n")
	write("two", "other\n")
	link := func(name string) {
		t.Helper()
		if err := errors.Join(os.Symlink(name, path+"~"), os.Rename(path+"~", path)); err != nil {
			t.Fatal(err)
		}
	}
	link("one")
	c, err := secret.Load(secret.Source{Name: "--token", Path: path}, parseToken)
	if err != nil {
		t.Fatal(err)
	}
	is := func(want string) {
		t.Helper()
		if got, err := c.Get(); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	is("first")
	link("two")
	is("other")
	write("two", "longer than that")
	if _, err := c.Get(); err == nil || err.Error() != "--token "+path+": a token must be one word" {
		t.Error(err)
	}
	write("two", "third")
	is("third")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(); err == nil || !strings.HasSuffix(err.Error(), ": no such file or directory") {
		t.Error(err)
	}
	link("one")
	is("first")

	if _, err := os.Stat("/dev/fd"); err != nil {
		return // no way to name a pipe
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "piped")
	w.Close()
	if c, err = secret.Load(secret.Source{Name: "--token", Path: fmt.Sprintf("/dev/fd/%d", r.Fd())}, parseToken); err != nil {
		t.Fatal(err)
	}
	r.Close()
	is("piped")
}

// TestHeaders checks valid and invalid files of headers. Errors must not contain their values.
func TestHeaders(t *testing.T) {
	got, err := parseHeaders("# comment\r\n\nX-One: 1\r\nx-two:2\nX-Two: 3\n")
	if err != nil || fmt.Sprint(got) != "map[X-One:[1] X-Two:[2 3]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{
		"", "#", "hunter2", "X Y: hunter2", ": hunter2", "X: hunter2\x00", "ce-id: hunter2", "Content-Type: hunter2", "Webhook-Id: hunter2", "Host: hunter2",
	} {
		if _, err := parseHeaders(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want an error without the value", text, err)
		}
	}
}

// TestEscape checks the example of the CloudEvents HTTP binding, and its other rules.
func TestEscape(t *testing.T) {
	for value, want := range map[string]string{
		"Euro € 😀":               "Euro%20%E2%82%AC%20%F0%9F%98%80",
		"/apis/a~!'()*;:@&=+$,?": "/apis/a~!'()*;:@&=+$,?",
		`100% "x"`:               "100%25%20%22x%22",
		"a\r\nb\x7f\u0085":       "a%0D%0Ab%7F%C2%85",
		"":                       "",
	} {
		if got := cloudevent.EscapeHeader(value); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}
