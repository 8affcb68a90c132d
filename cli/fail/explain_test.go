package fail

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
)

func TestExplain(t *testing.T) {
	get := func(err error) error {
		return fmt.Errorf("discover the resources of the server: %w", &url.Error{Op: "Get", URL: "https://me:hunter2@a:6443/api?x=y", Err: err})
	}
	dial := func(op string, err error) error {
		return get(&net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError("connect", err)})
	}
	plugin := errors.New("getting credentials: exec: executable x not found\n\nIt looks like you are\n\nFirst do this.")
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("one\n\ttwo\r\nthree "), "one two three"},
		{errors.New("\x1b[2Jb\u009b31m\u202e"), `\u001b[2Jb\u009b31m\u202e`},
		{dial("dial", syscall.ECONNREFUSED), "The connection to the server a:6443 was refused - did you specify the right host or port?"},
		{dial("proxyconnect", syscall.ECONNREFUSED), "Unable to connect to the server a:6443: proxyconnect tcp: connect: connection refused; check the proxy: --proxy-url, proxy-url in the kubeconfig, or HTTPS_PROXY"},
		{dial("socks connect", syscall.ECONNREFUSED), "Unable to connect to the server a:6443: socks connect tcp: connect: connection refused; check the proxy: --proxy-url, proxy-url in the kubeconfig, or HTTPS_PROXY"},
		{get(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "p"}}), "Unable to connect to the server a:6443: proxyconnect tcp: lookup p: no such host; check the proxy: --proxy-url, proxy-url in the kubeconfig, or HTTPS_PROXY"},
		{get(errors.New("Proxy Authentication Required")), "Unable to connect to the server a:6443: Proxy Authentication Required; check the proxy: --proxy-url, proxy-url in the kubeconfig, or HTTPS_PROXY"},
		{dial("dial", syscall.ETIMEDOUT), "Unable to connect to the server a:6443: no answer in time (dial tcp: connect: connection timed out); check the address and the network"},
		{get(&net.DNSError{Err: "no such host", Name: "a", Server: "10.0.0.1:53"}), "Unable to connect to the server a:6443: no such host; check the address and the network"},
		{get(x509.UnknownAuthorityError{}), "Unable to connect to the server a:6443: x509: certificate signed by unknown authority; set its certificate authority with --certificate-authority"},
		{get(plugin), "no credentials for the server a:6443: exec: executable x not found; check the plugin of the user in the kubeconfig"},
		{get(errors.New(`net/http: invalid header field value for "Authorization"`)), `Unable to connect to the server a:6443: net/http: invalid header field value for "Authorization"; the values of flags such as --token and --as must be one line`},
		{serverError{"b", get(errors.New("stopped after 10 redirects"))}, "Unable to connect to the server b: stopped after 10 redirects; check the server's address"},
		{serverError{"b", context.DeadlineExceeded}, "Unable to connect to the server b: no answer in time; check the address, or wait longer with --request-timeout"},
		{serverError{"b", &mapper.UnknownError{Name: "get", Hint: "dwatch watches"}}, `the server doesn't have a resource type "get": dwatch watches`},
		{FromServer("b", &mapper.UnknownError{Name: "podz"}), `the server doesn't have a resource type "podz"`},
		{fmt.Errorf("watch pods: %w", apierrors.NewUnauthorized("no")), "You must be logged in to the server (Unauthorized): log in again, or check the user in the kubeconfig or --token"},
		{fmt.Errorf("watch pods: %w", knowing{}), "it knows better"},
	} {
		if diff := cmp.Diff([]string{test.want}, Explain(test.err)); diff != "" {
			t.Errorf("%v (-want, +got):\n%s", test.err, diff)
		}
	}
}

// knowing is an error with its own message.
type knowing struct{}

func (knowing) Error() string   { return "a text" }
func (knowing) Explain() string { return "it knows\n better" }

func TestExplainSeveral(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	for _, test := range []struct {
		err  error
		want []string
	}{
		{errors.Join(one, errors.Join(two, one)), []string{"one", "two"}},
		{fmt.Errorf("do: %w", errors.Join(one, two)), []string{"do: one two"}}, // the prefix is not lost
	} {
		if diff := cmp.Diff(test.want, Explain(test.err)); diff != "" {
			t.Errorf("%v (-want, +got):\n%s", test.err, diff)
		}
	}
}

func TestExplainLoss(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://me:hunter2@a:6443/api", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("watch: %w", refused), "a:6443: connection refused"},
		{errors.New("unexpected\nEOF"), "unexpected EOF"},
		{fmt.Errorf("watch: %w", apierrors.NewUnauthorized("no")), "the server no longer accepts the credentials (Unauthorized), as when a token has expired"},
		{apierrors.FromObject(apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding").AsObject(
			errors.New("unable to decode an event from the watch stream: http2: client connection lost"))), "http2: client connection lost"},
	} {
		if got := ExplainDisconnect(test.err); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestExplainLong(t *testing.T) {
	got := Explain(errors.New(strings.Repeat("ä", 10_000)))[0]
	if want := strings.Repeat("ä", maxLength) + "... (9300 more characters)"; got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

func TestHostOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://a:6443/path?q=1":      "a:6443",
		"https://me:hunter2@a:6443":    "a:6443",
		"a:6443":                       "a:6443",
		"me:hunter2@a:6443":            "a:6443",
		"https://me:hunter2@a b:x":     "a b:x",
		"https://me:p@hunter2@[::1]:x": "[::1]:x",
	} {
		if got := DisplayHost(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
