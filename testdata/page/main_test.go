// Package page tests the page of dwatch serve in a real browser: headless Chromium, driven by
// chromedp, with a real dwatch that watches a real API server.
//
// It is a separate module, so that builds of dwatch do not need the browser driver. Without a browser all tests are skipped.
// CHROMIUM is the path of a browser that is not in PATH.
package page

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is the time limit of each wait. The machine may be busy.
const patience = time.Minute

// root is the root directory of dwatch.
const root = "../.."

var (
	browserPath = findBrowser()
	temporary   string

	mu       sync.Mutex // protects clusters
	clusters []*cluster
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// isSet reports whether a flag was given.
func isSet(name string) (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

func run(m *testing.M) int {
	flag.Parse()
	if !isSet("test.parallel") {
		flag.Set("test.parallel", "4") // tests mostly wait
	}
	os.Unsetenv("GOGC") // set by make test; dwatch sets its own
	var err error
	if temporary, err = os.MkdirTemp("", "dwatch-page-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temporary)
	defer func() {
		for _, c := range clusters {
			c.stop()
		}
	}()
	defer func() { endBrowser() }()
	return m.Run()
}

// findBrowser returns the path of a browser, or "".
func findBrowser() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "headless_shell", "headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// dwatchBinary builds dwatch as for a release, once. If make test has built it, TEST_DWATCH is its path.
var dwatchBinary = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("TEST_DWATCH"); built != "" {
		return built, nil
	}
	path := filepath.Join(temporary, "dwatch")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build dwatch: %w\n%s", err, out)
	}
	return path, nil
})

// cluster is a real API server.
type cluster struct {
	cmd        *exec.Cmd
	stdin      io.Closer // the server ends when this is closed, also if the tests crash
	kubeconfig string

	connecting sync.Once
	server     *server // set by the first request
}

// shared starts the cluster for all tests that do not stop it, once. It has controllers, so that Deployments roll out.
var shared = sync.OnceValues(func() (*cluster, error) { return startCluster("shared", "--controllers") })

// startCluster starts a cluster with the given name for its kubeconfig. With --data and --port among the flags, it can
// be killed and started again with the same data.
func startCluster(name string, flags ...string) (*cluster, error) {
	binary, err := filepath.Abs(filepath.Join(root, "bin", "cluster"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the tests need a test cluster, run make bin/cluster: %w", err)
	}
	c := &cluster{kubeconfig: filepath.Join(temporary, name+".kubeconfig")}
	c.cmd = exec.Command(binary, append([]string{"--stop-on-stdin-close", "--kubeconfig", c.kubeconfig}, flags...)...)
	c.cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	mu.Lock()
	clusters = append(clusters, c)
	mu.Unlock()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export KUBECONFIG=") {
			go io.Copy(io.Discard, stdout)
			return c, nil
		}
	}
	return nil, errors.New("the test cluster ended at its start")
}

func (c *cluster) stop() {
	c.stdin.Close()
	c.cmd.Wait() // its exit code does not matter
}

// kubectl runs the real kubectl and returns what it wrote to stdout.
func (c *cluster) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin", "kubectl"), append(args, "--kubeconfig", c.kubeconfig)...)
	cmd.Env = append(os.Environ(), "GOGC=400") // saves a fifth of its CPU time
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

// run runs a subcommand of the cluster program.
func (c *cluster) run(args ...string) error {
	cmd := exec.Command(filepath.Join(root, "bin", "cluster"), append(args, "--kubeconfig", c.kubeconfig)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cluster %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// rooms numbers the namespaces, since with -count a test runs again while its earlier namespace still exists.
var rooms atomic.Int32

// room creates a namespace for a test. It is not deleted, because deleting its objects takes more CPU time than most
// tests.
func (c *cluster) room(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), rooms.Add(1))
	c.makeNamespace(t, name)
	return name
}

// setUp returns the shared cluster and a new namespace for a test that runs in parallel with others. If there is no
// browser, it skips the test before it starts anything.
func setUp(t *testing.T) (*cluster, string) {
	t.Helper()
	needBrowser(t)
	t.Parallel()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c, c.room(t)
}

// dwatch is a running dwatch that serves a page.
type dwatch struct {
	t   *testing.T
	cmd *exec.Cmd
	// url is the address with the token, and home the address without it.
	url, home string
	ended     chan struct{}
}

var pageLine = regexp.MustCompile(`http://\S+/\?token=\S+`)

// serve starts dwatch serve. It ends with the test.
func serve(t *testing.T, c *cluster, args ...string) *dwatch {
	t.Helper()
	binary, err := dwatchBinary()
	if err != nil {
		t.Fatal(err)
	}
	d := &dwatch{t: t, ended: make(chan struct{})}
	if args = append([]string{"serve"}, args...); c != nil { // without a cluster, it shows a recording
		args = append(args, "--kubeconfig", c.kubeconfig)
	}
	d.cmd = exec.Command(binary, args...)
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	lines := bufio.NewScanner(stderr)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if d.url = pageLine.FindString(lines.Text()); d.url != "" {
			break
		}
	}
	go func() {
		io.Copy(io.Discard, stderr)
		d.cmd.Wait() // tests end it by a signal
		close(d.ended)
	}()
	if d.url == "" {
		t.Fatalf("dwatch logged no address of a page:\n%s", strings.Join(said, "\n"))
	}
	d.home = d.url[:strings.Index(d.url, "?")]
	return d
}

func (d *dwatch) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Error(err)
	}
}

func (d *dwatch) kill() {
	d.signal(syscall.SIGKILL)
	<-d.ended
}
