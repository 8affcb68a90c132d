package program

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiverKinds are the receivers that a script can start.
//
//	(none)      http://127.0.0.1:PORT
//	tls         https, with a certificate signed by the CA in the file NAME.ca
//	mtls        the same, and requires the client certificate NAME.crt with the key NAME.key
//	expired     https, with a certificate that expired yesterday
//	otherhost   https, with a certificate for the host receiver.invalid
//	proxy OF    a proxy that forwards each connection to the receiver OF, or to the API server if OF is "server"
var receiverKinds = []string{"", "tls", "mtls", "expired", "otherhost", "proxy"}

// hook is a receiver of webhooks, or a proxy in front of one.
type hook struct {
	name, kind string
	address    string // host and port
	tls        *tls.Config
	handler    http.Handler
	log        transcript
	never      chan struct{}
	server     *http.Server // nil while it is down

	mu      sync.Mutex
	code    int
	headers []string
}

func startReceiver(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 3 {
		ts.Fatalf("usage: receiver NAME [KIND [OF]]")
	}
	h := &hook{name: args[0], address: "127.0.0.1:0", code: http.StatusOK, never: make(chan struct{})}
	if len(args) > 1 {
		h.kind = args[1]
	}
	if !slices.Contains(receiverKinds, h.kind) {
		ts.Fatalf("unknown kind of receiver %q", h.kind)
	}
	h.handler = http.HandlerFunc(h.receive)
	scheme := "http://"
	switch h.kind {
	case "":
	case "proxy":
		to := strings.TrimPrefix(ts.Getenv("SERVER"), "https://")
		if args[2] != "server" {
			to = of(ts).receivers[args[2]].address
		}
		h.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.lead(w, r, to) })
	default:
		scheme = "https://"
		h.tls = newIdentity(ts, h)
	}
	ts.Check(h.start())
	ts.Setenv(h.name, scheme+h.address)
	ts.Setenv(h.name+"_HOST", h.address)
	of(ts).receivers[h.name] = h
}

func (h *hook) start() error {
	listener, err := net.Listen("tcp", h.address)
	if err != nil {
		return err
	}
	h.address = listener.Addr().String()
	h.server = &http.Server{Handler: h.handler, ErrorLog: log.New(io.Discard, "", 0)}
	if h.tls != nil {
		listener = tls.NewListener(listener, h.tls)
	}
	go h.server.Serve(listener)
	return nil
}

func (h *hook) stop() {
	if h.server != nil {
		h.server.Close()
		h.server = nil
	}
}

// receive logs a request and responds.
func (h *hook) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	fmt.Fprintf(&text, "\n%s\n", strings.TrimSuffix(string(body), "\n"))
	h.mu.Lock()
	code, headers := h.code, h.headers
	h.mu.Unlock()
	io.WriteString(&h.log, text.String())
	if code == 0 { // no response
		<-r.Context().Done()
		return
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		w.Header().Set(name, value)
	}
	w.WriteHeader(code)
}

// lead creates a tunnel, as a proxy does.
func (h *hook) lead(w http.ResponseWriter, r *http.Request, to string) {
	fmt.Fprintf(&h.log, "%s %s %s\n", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
	h.mu.Lock()
	code := h.code
	h.mu.Unlock()
	if r.Method != http.MethodConnect || code != http.StatusOK {
		w.WriteHeader(code)
		return
	}
	target, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer target.Close()
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	go func() {
		io.Copy(target, client)
		target.Close()
	}()
	io.Copy(client, target)
}

// answer sets the response of a receiver: a status code, or "hang".
func answer(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: answer NAME CODE|hang [HEADER: VALUE]...")
	}
	code := 0
	if args[1] != "hang" {
		_, err := fmt.Sscan(args[1], &code)
		ts.Check(err)
	}
	h := of(ts).receivers[args[0]]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.code, h.headers = code, args[2:]
}

func down(ts *testscript.TestScript, neg bool, args []string) { of(ts).receivers[args[0]].stop() }

func up(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(of(ts).receivers[args[0]].start())
}

// awaitLog waits until the log of a receiver matches, and writes it to a file.
func awaitLog(ts *testscript.TestScript, h *hook, pattern *regexp.Regexp, n int) {
	found := h.log.await(pattern, n, h.never)
	ts.Check(os.WriteFile(ts.MkAbs(h.name+".log"), []byte(h.log.String()), 0o644))
	if !found {
		ts.Fatalf("the log of %s does not match %s %d times:\n%s", h.name, pattern, n, h.log.String())
	}
}
