//go:build unix

package program

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"dwatch/cli/fail"

	"dwatch/testdata/testenv"
)

// TestServerThatIsNone checks that dwatch ends within seconds with one line if the address is not that of a healthy API
// server.
func TestServerThatIsNone(t *testing.T) {
	t.Parallel()
	kubernetes, err := testbed.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(kubernetes.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	garbage := listen(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") })
	closing := listen(t, func(net.Conn) {})
	silent, _ := mute(t)
	plain := web(t, http.StatusOK, "text/html", "<html>\n<h1>It works!</h1>\n</html>")
	for name, test := range map[string]struct{ server, want string }{
		"http to https": {"http://127.0.0.1:" + port, `.*it answers "Client sent an HTTP request to an HTTPS server."; is it an https:// address\?`},
		"https to http": {"https://" + plain, `.*: it does not speak TLS; is it an http:// address\?`},
		"garbage":       {"http://" + garbage, `Unable to connect to the server HOST: .*; check the server's address`},
		"garbage tls":   {"https://" + garbage, `.*: it does not speak TLS; is it an http:// address\?`},
		"closes":        {"http://" + closing, `Unable to connect to the server HOST: it closed the connection without an answer; check the server's address`},
		"closes tls":    {"https://" + closing, `Unable to connect to the server HOST: it closed the connection without an answer; check the server's address`},
		"mute":          {"http://" + silent, `Unable to connect to the server HOST: no answer in time; check the address, or wait longer with --request-timeout`},
		"mute tls":      {"https://" + silent, `Unable to connect to the server HOST: no answer in time; check the address, or wait longer with --request-timeout`},
		"web":           {"http://" + plain, `discover the resources of the server: .* \(HOST\)`},
		"not found":     {"http://" + web(t, 404, "text/html", "<h1>Not Found</h1>"), `the server HOST does not answer like a Kubernetes API server: the server could not find the requested resource; check its address`},
		"other json":    {"http://" + web(t, 200, "application/json", `{"hello":"world"}`), `.*the server lists no resources: is it a Kubernetes API server\? \(HOST\)`},
		"bad request":   {"http://" + web(t, 400, "text/plain", "no"), `the server HOST does not answer like a Kubernetes API server: .*; check its address`},
		"forbidden":     {"http://" + web(t, 403, "text/html", strings.Repeat("<p>no\x1b[31m</p>\n", 1000)), `the server HOST does not allow this user to list its resources \(Forbidden\).*`},
		"internal":      {"http://" + web(t, 500, "text/html", strings.Repeat("<p>oh\x1b[31m</p>\n", 1000)), `the server HOST can't answer now: .*`},
		"unavailable":   {"http://" + web(t, 503, "text/plain", "no healthy upstream"), `the server HOST can't answer now: .*; try again later`},
		"redirect":      {"http://" + web(t, 302, "text/plain", ""), `Unable to connect to the server HOST: .*stopped after 10 redirects.*`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPiped(t, "", "cm", "--server", test.server, "--request-timeout", "3s")
			host := regexp.QuoteMeta(test.server[strings.Index(test.server, "//")+2:])
			p.refuses(t, strings.ReplaceAll(test.want, "HOST", host))
		})
	}
}

// TestServerThatCloses checks that dwatch gives up soon if the server closes each connection.
func TestServerThatCloses(t *testing.T) {
	t.Parallel()
	closing := listen(t, func(net.Conn) {})
	for _, scheme := range []string{"http://", "https://"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			p := startPiped(t, "", "cm", "--server", scheme+closing)
			p.ends(t, fail.ExitFailed, "error: Unable to connect to the server .*: it closed the connection without an answer; check the server's address\n")
		})
	}
}

func TestTimeoutBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	silent, _ := mute(t)
	p := startPiped(t, "", "cm", "--server", "http://"+silent, "--timeout", "1s")
	p.refuses(t, "--timeout passed before the server had answered: nothing was printed")
}

// refuses waits for the end of a run that fails at its start, which must print one error that matches.
func (p *piped) refuses(t *testing.T, pattern string) {
	t.Helper()
	p.endsWithin(t, soon, fail.ExitFailed, "(watching .*\n)?error: "+pattern+"\n")
	if wrong := stderrProblem(p.stderr.String()); wrong != "" {
		t.Errorf("%s in stderr:\n%s", wrong, p.stderr.String())
	}
}

// web starts an HTTP server with a constant response, and returns its address.
func web(t *testing.T, code int, kind, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/again")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestServerThatFailsLater checks the error if the server answers discovery, but fails for objects.
func TestServerThatFailsLater(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"closes":  {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, `Unable to connect to the server .*: it closed the connection without an answer; .*`},
		"garbage": {func(w http.ResponseWriter) { io.WriteString(w, "{]\n") }, `.*`},
		"internal": {func(w http.ResponseWriter) { http.Error(w, "oh\x1b[31m\nno", http.StatusInternalServerError) },
			`watch configmaps in namespace some: an error on the server .* has prevented the request from succeeding.*`},
		// Messages of a server must not control the terminal.
		"forbidden": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"configmaps is forbidden:\nerror: all is well\u001b[2J\u202e\u009b31m"}`)
		}, `configmaps is forbidden: error: all is well\\u001b\[2J\\u202e\\u009b31m`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/namespaces/") {
					test.answer(w)
					return true
				}
				return false
			}}
			p := startPiped(t, "", "cm", "--server", f.serve(t), "-n", "some", "--request-timeout", "3s")
			p.refuses(t, test.want)
		})
	}
}

// TestServerThatGoesAway checks that dwatch reports a server that disappears during a watch once, retries silently, and
// ends by a signal.
func TestServerThatGoesAway(t *testing.T) {
	t.Parallel()
	cluster, err := testenv.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	config, err := cluster.Config("")
	if err != nil {
		cluster.Kill()
		t.Fatal(err)
	}
	p := startPiped(t, cluster.Kubeconfig, "cm,secrets,pods", "-n", "default")
	for _, what := range []string{"configmaps", "secrets", "pods"} {
		p.says(t, "^no "+what+" in namespace default yet$")
	}
	cluster.Kill()
	p.says(t, "^connection lost, trying again: ")
	tries := make(chan struct{}, 100)
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listenAt(t, server.Host, func(net.Conn) { tries <- struct{}{} })
	for range 8 {
		receive(t, tries)
	}
	p.signal(os.Interrupt)
	said := "watching configmaps, secrets, pods in namespace default\n(no .* yet\n){3}"
	p.ends(t, fail.ExitOK, said+"connection lost, trying again: .*\n")
	if out := p.rest(t); len(out) > 0 {
		t.Errorf("stdout: %s", out)
	}
}

// TestServerThatClosesLater checks that dwatch treats a server that starts to close its connections as a lost
// connection, and resumes the watch afterwards.
func TestServerThatClosesLater(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	var closing atomic.Bool
	watches := make(chan context.CancelFunc, 100)
	f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
		if closing.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Query().Has("watch") {
			ctx, cancel := context.WithCancel(r.Context())
			*r = *r.WithContext(ctx)
			watches <- cancel
		}
		return false
	}}
	p := startPiped(t, "", "cm", "--server", f.serve(t), "-n", o.namespace)
	p.says(t, "^no configmaps in namespace \\S+ yet$")
	closing.Store(true)
	receive(t, watches)()
	p.says(t, "^connection lost, trying again: 127.0.0.1:\\d+: it closed the connection without an answer$")
	o.create(t, "meanwhile")
	closing.Store(false)
	p.says(t, "^reconnected$")
	p.signal(os.Interrupt)
	out := p.rest(t)
	p.ends(t, fail.ExitOK, "watching .*\nno configmaps .*\nconnection lost, .*\nreconnected\n")
	if names := namesIn(t, out); !names["meanwhile"] {
		t.Errorf("stdout: %s", out)
	}
}
