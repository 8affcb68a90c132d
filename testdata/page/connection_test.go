package page

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// reportedWithin is how soon a page has to report that its connection is dead.
const reportedWithin = 5 * time.Second

// proxy is a TCP proxy between the browser and dwatch that can cut its connections. Like "ssh -L" and "kubectl
// port-forward", it does not understand HTTP and has another port.
type proxy struct {
	target   string
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	closed   bool // true if it rejects connections
}

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() { listener.Close(); p.cut() })
	go p.serve()
	return p
}

// through returns the same address by way of the proxy.
func (p *proxy) through(address string) string {
	return strings.Replace(address, p.target, p.listener.Addr().String(), 1)
}

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil || !p.add(in, out) {
			in.Close()
			continue
		}
		go p.copy(in, out)
		go p.copy(out, in)
	}
}

// add registers a pair of connections. It returns false if the proxy rejects connections.
func (p *proxy) add(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		out.Close()
		return false
	}
	p.open[in], p.open[out] = true, true
	return true
}

func (p *proxy) copy(to, from net.Conn) {
	io.Copy(to, from) // ends when either is closed
	to.Close()
	from.Close()
}

// cut closes all connections, and rejects new ones until mend is called.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.open = map[net.Conn]bool{}
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// TestSocketCut checks that a page whose WebSocket is cut reports that, turns grey, and reconnects by itself. It then
// shows the missed events, and no event twice.
func TestSocketCut(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=level=info")
	d := serve(t, c, "cm", "-n", ns)
	p := newProxy(t, d.home)
	b := open(t, p.through(d.url), look{})
	b.awaitLive()

	p.cut()
	took := b.awaitWithin(`document.body.dataset.watch === "down"`, reportedWithin)
	t.Logf("the closed connection was reported after %v", took)
	if said := b.text("#down"); !strings.Contains(said, "No connection to dwatch since") {
		t.Errorf("the page says: %s", said)
	}
	if f := value[string](b, `getComputedStyle(document.querySelector("main")).filter`); f != "grayscale(1)" {
		t.Errorf("the page is not grey: %s", f)
	}
	c.patch(t, ns, "settings", `{"data":{"level":"missed"}}`)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "newcomer")
	p.mend()
	b.awaitLive()
	b.await(entry("info → missed"))
	b.await(row("newcomer"))
	b.await(entry("the page lost its connection"))
	b.await(entry("nothing was missed"))
	if n := value[int](b, `[...document.querySelectorAll("#lines .entry:not([hidden])")].filter((e) => e.textContent.includes("missed") && e.textContent.includes("data.level")).length`); n != 1 {
		t.Errorf("the change is in the feed %d times", n)
	}
}

// TestSilence checks that the page also reports a dwatch that hangs but keeps its connections.
func TestSilence(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings")
	d := serve(t, c, "cm", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	d.signal(syscall.SIGSTOP)
	took := b.awaitWithin(`document.body.dataset.watch === "down"`, reportedWithin)
	d.signal(syscall.SIGCONT)
	t.Logf("silence was reported after %v", took)
	b.awaitLive()
}

// TestDetailAskedAgain checks that a request that failed without a connection is repeated after the reconnect, also for
// an object that does not change.
func TestDetailAskedAgain(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=level=info")
	d := serve(t, c, "cm", "-n", ns)
	p := newProxy(t, d.home)
	b := open(t, p.through(d.url), look{})
	b.awaitLive()
	p.cut()
	b.await(`document.body.dataset.watch === "down"`)
	value[bool](b, `(window.failed = false, window.fetch = ((real) => (...a) => real(...a).catch((e) => { window.failed = true; throw e; }))(fetch), true)`)
	value[bool](b, row("settings")+`.click() ?? true`)
	b.await(`window.failed`)
	p.mend()
	b.await(`document.querySelector("#detail .yaml")?.textContent.includes("level")`)
}

// TestEnd checks that the page reports the end of the run as such, and not as a lost connection.
func TestEnd(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings")
	d := serve(t, c, "cm", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	d.signal(syscall.SIGINT)
	b.await(`document.getElementById("watch-state").textContent === "dwatch has ended"`)
	b.await(row("settings")) // the objects stay visible
}

// TestNoToken checks that a page without a valid cookie says that it needs the token.
func TestNoToken(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings")
	at := "--addr=127.0.0.1:" + freePort(t)
	d := serve(t, c, "cm", "-n", ns, at)
	b := open(t, d.url, look{})
	b.awaitLive()
	d.kill()
	serve(t, c, "cm", "-n", ns, at) // another run has another token
	b.await(`document.getElementById("watch-state").textContent === "No access"`)
	if said := b.text("#down"); !strings.Contains(said, "the address with the token") {
		t.Errorf("the page says: %s", said)
	}
}

// TestServerKilled kills the API server and restarts it. The page stays connected, shows the state of the watch, and
// then the missed changes. The time of the outage is shown as a gap in the past.
func TestServerKilled(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	data, port := filepath.Join(temporary, "killed"), freePort(t)
	flags := []string{"--data", data, "--port", port}
	c, err := startCluster("killed", flags...)
	if err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "", "create", "configmap", "settings", "--from-literal=level=info")
	b := open(t, serve(t, c, "cm").url, look{})
	b.awaitLive()
	c.cmd.Process.Kill()
	c.stop()
	b.await(`["lost", "partly"].includes(document.body.dataset.watch)`)
	b.await(entry("connection lost"))
	// The objects stay, marked as outdated.
	b.await(row("settings") + `?.classList.contains("stale")`)
	b.await(`/as of \d\d:\d\d:\d\d/.test(document.querySelector("#heading .title").textContent)`)
	const back, gap = `document.getElementById("back").click() ?? true`, `document.querySelector("#past .gaps i")`
	const ends = `((gap) => gap && parseFloat(gap.style.left) + parseFloat(gap.style.width))(` + gap + `)`
	value[bool](b, back)
	b.await(ends + ` > 99 && document.querySelector("#past summary").textContent === "1 gap" && document.querySelector("#past li button").textContent.endsWith(" to now")`)
	value[bool](b, back)
	b.await(`document.getElementById("past").hidden`)
	if c, err = startCluster("killed", flags...); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "", "patch", "cm", "settings", "-p", `{"data":{"level":"back"}}`)
	b.awaitLive()
	b.await(`!document.querySelector("#list .stale") && !document.querySelector("#heading").textContent.includes("as of")`)
	b.await(entry("info → back"))
	b.await(entry("reconnected"))
	value[bool](b, `(document.getElementById("back").click(), document.querySelector("#past summary").textContent !== "complete")`)
	b.await(`document.querySelector("#past summary").textContent === "1 gap" && !document.querySelector("#past li button").textContent.endsWith(" to now")`)
	// The gap keeps its place while the present moves on.
	ended := value[float64](b, ends)
	b.await(fmt.Sprintf(`%s < %f`, ends, ended))
	value[bool](b, `document.querySelector("#past li button").click() ?? true`)
	b.await(`document.getElementById("watch-state").textContent === "Not known" && document.getElementById("down").textContent.includes("configmaps: not connected")`)
}

// freePort returns a port outside the range that the system assigns to outgoing connections, so it stays free until
// someone listens on it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestSleep simulates a sleeping laptop: the whole browser with its timers stops for longer than the 30 s after which
// dwatch drops a viewer that does not read. DWATCH_SLEEP=10m sets the duration. Within 5 s after that the page has to be
// live again, with all missed changes.
func TestSleep(t *testing.T) {
	nap := 35 * time.Second
	if text := os.Getenv("DWATCH_SLEEP"); text != "" {
		var err error
		if nap, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=level=info")
	d := serve(t, c, "cm", "-n", ns)
	b := openApart(t, d.url, look{})
	b.awaitLive()
	value[bool](b, `(window.beats = 0, setInterval(() => window.beats++, 1000), true)`)
	pids := family(t, chromedp.FromContext(b.ctx).Browser.Process().Pid)
	signalAll(pids, syscall.SIGSTOP)
	for i := range int(nap / time.Second) {
		time.Sleep(time.Second) // the elapsed time is part of the test
		if i%5 == 0 {
			c.patch(t, ns, "settings", fmt.Sprintf(`{"data":{"level":"night%d"}}`, i))
		}
	}
	c.patch(t, ns, "settings", `{"data":{"level":"morning"}}`)
	signalAll(pids, syscall.SIGCONT)
	took := b.awaitWithin(entry("morning")+` && document.body.dataset.watch === "live"`, reportedWithin)
	t.Logf("after a sleep of %v the page was complete after %v", nap, took)
	if beats := value[int](b, "window.beats"); time.Duration(beats)*time.Second > nap/2 {
		t.Errorf("its timers did not stop: %d beats", beats)
	}
	// The first change during the sleep is in the feed, so nothing in between is missing.
	b.await(entry("info → night0"))
}

// family returns the IDs of a process and all its descendants.
func family(t *testing.T, pid int) []int {
	t.Helper()
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		if err != nil || len(tasks) == 0 && i == 0 {
			t.Skip("the processes of the browser can't be found here: it needs /proc")
		}
		for _, task := range tasks {
			children, _ := os.ReadFile(task) // a process that has ended has none
			for _, field := range strings.Fields(string(children)) {
				child, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func signalAll(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		syscall.Kill(pid, s) // the process may have ended
	}
}
