//go:build unix

package program

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
)

// piped is a dwatch process whose stdout is a pipe that only the test reads.
type piped struct {
	cmd    *exec.Cmd
	read   *os.File
	write  *os.File      // dwatch has this end, too
	lines  *bufio.Reader // reads from read; nil before the first call of reads
	stderr transcript
	ended  chan struct{}
}

// startPiped starts dwatch. If kubeconfig is empty, args have to name the server.
func startPiped(t *testing.T, kubeconfig string, args ...string) *piped {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &piped{
		cmd:  exec.Command(filepath.Join(binaries, "dwatch"), args...),
		read: read, write: write, ended: make(chan struct{}),
	}
	p.cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir(), "GORACE=" + os.Getenv("GORACE")}
	p.cmd.Stdout, p.cmd.Stderr = write, &p.stderr
	p.stderr.stripTimes = true
	p.cmd.WaitDelay = promptly // for processes that it left behind with its stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // ProcessState has the exit code
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		read.Close()
		write.Close()
	})
	return p
}

// signal sends a signal. It does nothing if dwatch has ended.
func (p *piped) signal(s os.Signal) { p.cmd.Process.Signal(s) }

// says waits until stderr matches.
func (p *piped) says(t *testing.T, pattern string) {
	t.Helper()
	if !p.stderr.await(regexp.MustCompile("(?m)"+pattern), 1, p.ended) {
		t.Fatalf("stderr does not match %s:\n%s", pattern, p.stderr.String())
	}
}

// rest reads stdout until dwatch ends.
func (p *piped) rest(t *testing.T) []byte {
	t.Helper()
	p.write.Close()
	p.read.SetReadDeadline(time.Now().Add(patience))
	out, err := io.ReadAll(p.read)
	if err != nil {
		t.Fatalf("read stdout: %v\nstderr:\n%s", err, p.stderr.String())
	}
	return out
}

// promptly is how long dwatch may take to end after a signal.
const promptly = 5 * time.Second

// ends waits until dwatch has ended after a signal, and checks the exit code and all of stderr.
func (p *piped) ends(t *testing.T, code int, stderr string) {
	t.Helper()
	p.endsWithin(t, promptly, code, stderr)
}

func (p *piped) endsWithin(t *testing.T, limit time.Duration, code int, stderr string) {
	t.Helper()
	since := time.Now()
	p.waits(t)
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%v, want exit code %d", p.cmd.ProcessState, code)
	}
	if got := p.stderr.String(); !regexp.MustCompile("^(?:" + stderr + ")$").MatchString(got) {
		t.Errorf("stderr is not %s:\n%s", stderr, got)
	}
	if took := time.Since(since); took > limit {
		t.Errorf("dwatch took %v to end", took)
	}
}

func (p *piped) waits(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("dwatch does not end\nstderr:\n%s", p.stderr.String())
	}
}

// receive receives a value from a channel, with a time limit.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("no value was received")
		panic("unreachable")
	}
}

// room creates a namespace and a kubeconfig for one test.
func room(t *testing.T) (o *objects, kubeconfig string) {
	t.Helper()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	if err := writeKubeconfig(kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	return o, kubeconfig
}

// front is an HTTP proxy for the API server. It authenticates its requests as admin.
type front struct {
	of *testenv.Cluster // nil means the server that all tests share
	// instead may answer a request itself. If it returns false, the request goes to the API server.
	instead func(http.ResponseWriter, *http.Request) bool
	// change modifies a response.
	change func(*http.Response) error
}

// serve returns the URL of the front. It ends with the test.
func (f front) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(f.handler(t))
	t.Cleanup(server.Close)
	return server.URL
}

// serveTLS is like serve, with a certificate that no client trusts.
func (f front) serveTLS(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(f.handler(t))
	t.Cleanup(server.Close)
	return server.URL
}

func (f front) handler(t *testing.T) http.Handler {
	t.Helper()
	config, err := cmp.Or(f.of, testbed).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")   // from a credential plugin
			r.Out.Header.Del("Accept-Encoding") // change needs uncompressed bodies: Kubernetes 1.37 compresses watches
		},
		FlushInterval:  -1,
		ModifyResponse: f.change,
		// Do not log clients that disconnect during a response.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {},
	}
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.instead == nil || !f.instead(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})
}
