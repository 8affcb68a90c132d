//go:build linux

package pod

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
)

var (
	cluster *testenv.Cluster
	program string
	config  *rest.Config
	client  *kubernetes.Clientset
)

// patience limits each wait.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if out, err := exec.Command("unshare", "--mount", "chroot", "--userspec=65532:65532", "/", "true").CombinedOutput(); err != nil {
		fmt.Printf("skipped: no mounts can be made here: %v %s\n", err, out) // as in most containers
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "dwatch-pod-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "dwatch") // as in the image, which has nothing else
	if err := testenv.Build(program); err != nil {
		return 0, err
	}
	if cluster, err = testenv.StartCluster(); err != nil {
		return 0, err
	}
	code := 1
	if config, err = cluster.Config("admin"); err == nil {
		if client, err = kubernetes.NewForConfig(config); err == nil {
			code = m.Run()
		}
	}
	return code, errors.Join(err, cluster.Stop())
}

// server is a proxy between a pod and the API server. It collects the requests that the server forbids.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	refused []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(config.CAData)
	s := &server{}
	s.Server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) }, // with the token of the pod
		FlushInterval: -1,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}, ForceAttemptHTTP2: true},
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusForbidden {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.refused = append(s.refused, r.Request.Method+" "+r.Request.URL.String())
			}
			return nil
		},
	})
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // ended clients cause errors
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// ca returns the certificate of a server in PEM.
func ca(of *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate().Raw})
}

// container is a process that runs like the container of a StatefulSet.
type container struct {
	*exec.Cmd
	*server
	volume  string // directory that is mounted at /var/lib/dwatch
	metrics chan string
	ended   chan struct{}
	mu      sync.Mutex
	said    strings.Builder
	out     bytes.Buffer // read it once it has ended
}

// The root is what the image has, and where something is mounted; nothing of it can be written.
const script = `set -e
mount --bind "$1" "$1"
mount --bind "$2" "$1/dwatch"
for at in etc/dwatch etc/dwatch-rules var/lib/dwatch var/run/secrets/kubernetes.io/serviceaccount; do
	mount --bind "$3/$at" "$1/$at"
	case $at in var/lib/*) ;; *) mount -o remount,ro,bind "$1/$at" ;; esac
done
mount -o remount,ro,bind "$1"
root=$1
shift 3
if (touch "$root/probe") 2>/dev/null; then exit 77; fi
exec chroot --userspec=65532:65532 "$root" /dwatch "$@"`

// start runs the pod of a set as an account, with files in its Secret and in its ConfigMap.
func start(t *testing.T, set *appsv1.StatefulSet, account string, secret, rules map[string]string) *container {
	t.Helper()
	at, root := t.TempDir(), t.TempDir()
	c := &container{server: newServer(t), volume: filepath.Join(at, "var/lib/dwatch"), metrics: make(chan string, 1), ended: make(chan struct{})}
	token, err := client.CoreV1().ServiceAccounts(set.Namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range map[string]map[string]string{
		"etc/dwatch": secret, "etc/dwatch-rules": rules, "var/lib/dwatch": nil,
		"var/run/secrets/kubernetes.io/serviceaccount": {"token": token.Status.Token, "ca.crt": string(ca(c.Server)), "namespace": set.Namespace},
	} {
		for _, base := range []string{at, root} {
			if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(at, dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = errors.Join(os.WriteFile(filepath.Join(root, "dwatch"), nil, 0o755), os.Chmod(root, 0o755), os.Chown(c.volume, 65532, 65532))
	if err != nil {
		t.Fatal(err)
	}
	// Use free ports, because another program may use those of the manifests.
	ports := strings.NewReplacer("--listen=:9090", "--listen=127.0.0.1:0", "--addr=:8080", "--addr=127.0.0.1:0", "$$", "$")
	args := []string{"--mount", "sh", "-c", script, "sh", root, program, at}
	for _, arg := range set.Spec.Template.Spec.Containers[0].Args {
		args = append(args, ports.Replace(arg))
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(c.URL, "https://"), ":")
	c.Cmd = exec.Command("unshare", args...)
	c.Env = []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port, "PATH=" + os.Getenv("PATH")}
	c.Stdout = &c.out
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-c.ended
		_ = c.Wait()
	})
	go c.read(stderr)
	return c
}

var listens = regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`)

func (c *container) read(stderr io.Reader) {
	defer close(c.ended)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		c.mu.Lock()
		fmt.Fprintln(&c.said, lines.Text())
		c.mu.Unlock()
		if found := listens.FindString(lines.Text()); found != "" {
			c.metrics <- found
		}
	}
}

func (c *container) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

// isReady reports whether /readyz answers with 200, like the readiness probe of the pod. It returns false until dwatch has
// logged the address.
func (c *container) isReady(ctx context.Context) bool {
	var at string
	select {
	case at = <-c.metrics:
		c.metrics <- at
	default:
		return false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(at, "metrics")+"readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// until polls until is returns true.
func (c *container) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.After(patience); !is(); {
		select {
		case <-end:
			t.Fatalf("not %s: %s, refused: %q", what, c.text(), c.refusals())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *container) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// stop ends the process with SIGTERM, as the kubelet does.
func (c *container) stop(t *testing.T) {
	t.Helper()
	err := c.Process.Signal(syscall.SIGTERM)
	<-c.ended
	if waited := c.Wait(); err != nil || waited != nil {
		t.Errorf("it ended with %v, %v: %s", err, waited, c.text())
	}
}

// namespaceFor creates a namespace that enforces the Pod Security Standard "restricted".
func namespaceFor(t *testing.T) string {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "pod-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}
