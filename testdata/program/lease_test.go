//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// replicas are several dwatch processes with one Lease, and the receiver that records what they deliver.
type replicas struct {
	t      *testing.T
	client dynamic.ResourceInterface
	config string
	url    string
	args   func(name string) []string

	mu      sync.Mutex
	got     []delivered
	changed chan struct{}        // closed and replaced with each delivery
	refuse  func(by string) bool // nil accepts all deliveries
}

// delivered is an event, and the replica that delivered it.
type delivered struct {
	by string
	line
}

// newReplicas creates a namespace and a receiver. args returns additional arguments of dwatch send.
func newReplicas(t *testing.T, args func(name string) []string) *replicas {
	o, config := room(t)
	r := &replicas{t: t, client: configMapsOf(o), config: config, args: args, changed: make(chan struct{})}
	receiver := httptest.NewServer(r)
	t.Cleanup(receiver.Close)
	r.url = receiver.URL
	return r
}

// ServeHTTP implements http.Handler. The path is the name of the replica.
func (r *replicas) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	one := delivered{by: strings.TrimPrefix(q.URL.Path, "/")}
	if err == nil {
		err = json.Unmarshal(body, &one.line)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil: // the replica was killed while it sent the request
		return
	case r.refuse != nil && r.refuse(one.by):
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.got = append(r.got, one)
	close(r.changed)
	r.changed = make(chan struct{})
}

// start starts a replica.
func (r *replicas) start(name string) *piped {
	r.t.Helper()
	args := append([]string{"send", "cm", "--lease", "feed", "--to", r.url + "/" + name, "--workers", "1", "--max-backoff", "1s"}, r.args(name)...)
	return startPiped(r.t, r.config, args...)
}

// await waits until the deliveries satisfy is, and returns them.
func (r *replicas) await(is func(got []delivered) bool) []delivered {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		got, changed := slices.Clone(r.got), r.changed
		r.mu.Unlock()
		if is(got) {
			return got
		}
		select {
		case <-changed:
		case <-late:
			r.t.Fatalf("the expected deliveries did not arrive, the last ones are %v", got[max(0, len(got)-30):])
		}
	}
}

// write creates or changes an object.
func (r *replicas) write(name string, n int) {
	r.t.Helper()
	if err := changeOne(r.client, name, n, false); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replicas) remove(name string) {
	r.t.Helper()
	if err := r.client.Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// awaitOne waits until a replica has delivered an event of an object.
func (r *replicas) awaitOne(by, what, name string) {
	r.t.Helper()
	r.await(func(got []delivered) bool {
		return slices.ContainsFunc(got, func(d delivered) bool { return d.by == by && string(d.Type) == what && d.Object.Name == name })
	})
}

// count returns the number of deliveries of an event type and object.
func (r *replicas) count(what, name string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.got {
		if string(d.Type) == what && d.Object.Name == name {
			n++
		}
	}
	return n
}

// awaitTruth waits until the last delivery of each existing object has its current resourceVersion, and that of each
// other object is its deletion.
func (r *replicas) awaitTruth() []delivered {
	r.t.Helper()
	there := map[types.UID]string{}
	all, err := r.client.List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all.Items {
		there[o.GetUID()] = o.GetResourceVersion()
	}
	return r.await(func(got []delivered) bool {
		last := map[types.UID]delivered{}
		for _, d := range got {
			last[d.Object.UID] = d
		}
		for uid, version := range there {
			if last[uid].Object.ResourceVersion != version {
				return false
			}
		}
		for uid, d := range last {
			if there[uid] == "" && d.Type != "DELETED" {
				return false
			}
		}
		return true
	})
}

// TestLeaseKilled kills one replica after the other while objects are created, changed and deleted. The replicas share a
// state file. The last state of each object and each deletion are delivered, only one replica delivers at a time, and
// only the last events before a kill are delivered again.
func TestLeaseKilled(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	r := newReplicas(t, func(string) []string { return []string{"--state", state} })
	stop := startChanges(t, r.client)
	defer stop()
	leads := r.start("0")
	leads.says(t, "^leading since .*: lease .*/feed$")
	const kills = 2
	for n := 1; n <= kills; n++ {
		name := strconv.Itoa(n)
		next := r.start(name)
		next.says(t, "^standing by: .* holds lease .*/feed$")
		before := len(r.await(func(got []delivered) bool { return len(got) > 20*n }))
		leads.signal(syscall.SIGKILL)
		next.says(t, "^leading since .*: lease .*/feed$")
		next.says(t, "state is from the previous leader: continuing with its undelivered events$")
		r.await(func(got []delivered) bool { return len(got) > before && got[len(got)-1].by == name })
		leads = next
	}
	stop()
	r.checkRepeats(r.awaitTruth())
	leads.signal(syscall.SIGTERM)
	leads.waits(t)
}

// checkRepeats checks that the replicas delivered one after the other, and that each delivered a state at most once.
func (r *replicas) checkRepeats(got []delivered) {
	r.t.Helper()
	first := map[string]int{}
	by, repeated, newer := "", 0, map[types.UID]int{}
	for i, d := range got {
		if d.by < by {
			r.t.Errorf("%s delivered after %s", d.by, by)
		}
		by = d.by
		key := d.String()
		if at, again := first[key]; again {
			if got[at].by == d.by {
				r.t.Errorf("%s was delivered twice by %s", key, d.by)
			}
			repeated++
			continue
		}
		first[key] = i
		version, err := strconv.Atoi(d.Object.ResourceVersion)
		if err != nil {
			r.t.Fatal(err)
		}
		if version < newer[d.Object.UID] {
			r.t.Errorf("%s was delivered after version %d", key, newer[d.Object.UID])
		}
		newer[d.Object.UID] = version
	}
	r.t.Logf("%d delivered, %d of them again", len(got), repeated)
}

// TestLeaseGivenBack checks that a replica that ends normally releases the Lease, and the next one delivers its
// undelivered events.
func TestLeaseGivenBack(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	r := newReplicas(t, func(string) []string { return []string{"--state", state, "--listen", "127.0.0.1:0", "--drain", "1s"} })
	r.refuse = func(by string) bool { return by == "a" }
	a := r.start("a")
	a.says(t, "^leading since ")
	b := r.start("b")
	b.says(t, "^standing by: ")
	gets(t, b, "/readyz", 200, "ok")
	gets(t, b, "/healthz", 200, "ok")
	gets(t, b, "/metrics", 200, "(?m)^dwatch_leading 0$")
	gets(t, a, "/metrics", 200, "(?m)^dwatch_leading 1$")
	r.write("goes", 1)
	a.says(t, "cm/goes: .*500")
	r.remove("goes")
	a.signal(syscall.SIGTERM)
	a.waits(t)
	r.awaitOne("b", "ADDED", "goes")
	r.awaitOne("b", "DELETED", "goes")
	gets(t, b, "/metrics", 200, "(?m)^dwatch_leading 1$")
	gets(t, b, "/readyz", 200, "ok")
	b.signal(syscall.SIGTERM)
	b.waits(t)
}

// gets sends requests to a replica until the response matches.
func gets(t *testing.T, p *piped, path string, code int, pattern string) {
	t.Helper()
	p.says(t, "^listening on ")
	url := listening.FindStringSubmatch(p.stderr.String())[1]
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got, text := 0, ""
		answer, err := http.Get(url + path)
		if err == nil {
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			got, text = answer.StatusCode, string(body)
		}
		if got == code && regexp.MustCompile(pattern).MatchString(text) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s: %d %s %v", path, got, text, err)
		}
	}
}

// TestLeaseFrozen checks that a frozen replica loses the Lease and delivers nothing when it resumes. It stands by, and
// can lead again. Each replica has its own state file, so each of them delivers the deletion of an object that was
// deleted while the other one led.
func TestLeaseFrozen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newReplicas(t, func(name string) []string { return []string{"--state", filepath.Join(dir, name)} })
	a := r.start("a")
	a.says(t, "^leading since ")
	r.write("stays", 1)
	r.write("goes", 1)
	r.awaitOne("a", "ADDED", "goes")
	b := r.start("b")
	b.says(t, "^standing by: ")
	a.signal(syscall.SIGSTOP)
	b.says(t, "^leading since ")
	b.says(t, "b is new: existing objects are sent first; it does not contain earlier deletions$")
	r.awaitOne("b", "ADDED", "goes")
	r.remove("goes")
	r.awaitOne("b", "DELETED", "goes")
	r.write("new", 1)
	r.awaitOne("b", "ADDED", "new")
	a.signal(syscall.SIGCONT)
	a.says(t, "^standing by: ")
	if n := r.count("DELETED", "goes"); n != 1 {
		t.Errorf("the deletion was delivered %d times", n)
	}
	b.signal(syscall.SIGTERM)
	b.waits(t)
	a.says(t, "a is from an earlier term: changes since then are sent")
	r.awaitOne("a", "DELETED", "goes")
	r.write("last", 1)
	r.awaitOne("a", "ADDED", "last")
	if n := r.count("DELETED", "goes"); n != 2 {
		t.Errorf("the deletion was delivered %d times", n)
	}
	a.signal(syscall.SIGTERM)
	a.waits(t)
}

// TestLeaseOwnFiles checks what docs/reference/replicas-and-shards.md promises for a state file per replica: a deletion while no
// replica led is delivered when the replica leads again whose file has the object, and not before.
func TestLeaseOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newReplicas(t, func(name string) []string { return []string{"--state", filepath.Join(dir, name)} })
	a := r.start("a")
	a.says(t, "^leading since ")
	r.write("stays", 1)
	r.write("goes", 1)
	r.awaitOne("a", "ADDED", "goes")
	a.signal(syscall.SIGTERM)
	a.waits(t)
	r.remove("goes")
	b := r.start("b")
	b.says(t, "b is new: existing objects are sent first; it does not contain earlier deletions$")
	r.awaitOne("b", "ADDED", "stays")
	r.write("last", 1)
	r.awaitOne("b", "ADDED", "last")
	if n := r.count("DELETED", "goes"); n != 0 {
		t.Errorf("a replica that never knew the object delivered its deletion %d times", n)
	}
	b.signal(syscall.SIGTERM)
	b.waits(t)
	a = r.start("a")
	a.says(t, "a is from an earlier term: changes since then are sent, although other replicas may have sent them; deletions of objects that it does not contain are not sent$")
	r.awaitOne("a", "DELETED", "goes")
	a.signal(syscall.SIGTERM)
	a.waits(t)
	if n := r.count("DELETED", "goes"); n != 1 {
		t.Errorf("the deletion was delivered %d times, want once", n)
	}
}

// TestLeaseFrozenFile freezes the leader while it has the shared state file open. The other replica takes the Lease,
// reports that it waits for the file, and delivers nothing before it has opened it.
func TestLeaseFrozenFile(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	r := newReplicas(t, func(string) []string { return []string{"--state", state} })
	a := r.start("a")
	a.says(t, "^leading since ")
	r.write("one", 1)
	r.awaitOne("a", "ADDED", "one")
	b := r.start("b")
	b.says(t, "^standing by: ")
	a.signal(syscall.SIGSTOP)
	b.says(t, "^leading since ")
	b.says(t, "state is in use by another dwatch, which does not hold the Lease: waiting for it to end$")
	r.write("two", 1)
	a.signal(syscall.SIGCONT)
	a.says(t, "^standing by: ")
	r.awaitOne("b", "ADDED", "two")
	r.checkRepeats(r.awaitTruth())
	for _, p := range []*piped{a, b} {
		p.signal(syscall.SIGTERM)
		p.waits(t)
	}
}

// TestLeaseServerAway checks that no replica delivers while the Lease cannot be written. Afterwards the leader continues
// with the events in its memory, because no other replica has held the Lease.
func TestLeaseServerAway(t *testing.T) {
	t.Parallel()
	var away, held atomic.Bool
	f := front{instead: func(w http.ResponseWriter, q *http.Request) bool {
		if away.Load() && strings.Contains(q.URL.Path, "/leases") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}}
	url := f.serve(t)
	r := newReplicas(t, func(string) []string { return nil })
	r.args = func(string) []string {
		return []string{"--server", url, "-n", r.namespace(), "--listen", "127.0.0.1:0"}
	}
	r.refuse = func(string) bool { return held.Load() }
	a := r.start("a")
	a.says(t, "^leading since .*; without --state, existing objects are sent again")
	r.write("one", 1)
	r.awaitOne("a", "ADDED", "one")
	held.Store(true)
	r.write("goes", 1)
	a.says(t, "cm/goes: .*500")
	r.remove("goes")
	away.Store(true)
	a.says(t, "^lease .*/feed could not be written for 5s: delivery is paused until no other replica can hold it$")
	gets(t, a, "/metrics", 200, "(?m)^dwatch_leading 0$")
	held.Store(false)
	r.write("two", 1)
	time.Sleep(time.Second) // nothing signals that a delivery does not happen
	if got := len(r.await(func([]delivered) bool { return true })); got != 1 {
		t.Errorf("%d events were delivered, want 1", got)
	}
	away.Store(false)
	a.says(t, "^leading since .* still: no other replica has held lease ")
	r.awaitOne("a", "DELETED", "goes")
	r.awaitOne("a", "ADDED", "two")
	if n := r.count("ADDED", "one"); n != 1 {
		t.Errorf("an event was delivered %d times", n)
	}
	a.signal(syscall.SIGTERM)
	a.waits(t)
}

// TestLeaseHangup checks that SIGHUP, which rereads rules, does not end dwatch while it waits for the Lease, or between
// reads.
func TestLeaseHangup(t *testing.T) {
	t.Parallel()
	_, config := room(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n- {name: all, resources: [cm], command: [/bin/cat]}\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	started := make(chan *piped, 1)
	hangup := sync.OnceFunc(func() {
		p := <-started
		p.signal(syscall.SIGHUP)
	})
	f := front{instead: func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.URL.Path, "/leases") {
			hangup()
		}
		return false
	}}
	p := startPiped(t, config, "send", "-f", rules, "--lease", "feed", "--server", f.serve(t))
	started <- p
	p.says(t, "^leading since ")
	p.says(t, "^rule all: watching ")
	p.signal(syscall.SIGHUP)
	p.says(t, "rules.yaml reloaded: no changes$")
	p.signal(syscall.SIGTERM)
	p.waits(t)
}

// TestLeaseServerLost checks that a replica takes the Lease over although its own connections to the API server are dead
// and no error reports that, as when the leader and the server run on a machine that fails. It has to open new
// connections.
func TestLeaseServerLost(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, func(string) []string { return nil })
	config, err := testbed.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	var lost hole
	server := "https://" + lost.serve(t, strings.TrimPrefix(config.Host, "https://"))
	r.args = func(name string) []string {
		if name == "a" {
			return nil
		}
		return []string{"--server", server}
	}
	a := r.start("a")
	a.says(t, "^leading since ")
	r.write("one", 1)
	r.awaitOne("a", "ADDED", "one")
	b := r.start("b")
	b.says(t, "^standing by: ")
	b.says(t, "^watching ")
	lost.open()
	a.signal(syscall.SIGKILL)
	begun := time.Now()
	b.says(t, "^leading since ")
	r.awaitOne("b", "ADDED", "one")
	if took := time.Since(begun); took > 25*time.Second { // less than HTTP/2 takes to detect a dead connection
		t.Errorf("it took %v", took)
	}
	b.signal(syscall.SIGTERM)
	b.waits(t)
}

// hole is a TCP proxy. open makes its present connections drop all data, without closing them.
type hole struct {
	mu    sync.Mutex
	lost  chan struct{} // closed when the present connections are lost
	conns []net.Conn
}

// serve starts the proxy for an address and returns its own address. It ends with the test.
func (h *hole) serve(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.lost = make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			h.mu.Lock()
			h.conns = append(h.conns, in, out)
			lost := h.lost
			h.mu.Unlock()
			running.Go(func() { pass(out, in, lost) })
			running.Go(func() { pass(in, out, lost) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		h.mu.Lock()
		for _, c := range h.conns {
			c.Close()
		}
		h.mu.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}

// open loses the present connections. New ones work.
func (h *hole) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.lost)
	h.lost = make(chan struct{})
}

// pass copies from one connection to the other. Once lost is closed, it drops the data.
func pass(to, from net.Conn, lost <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-lost:
			if err != nil {
				return
			}
			continue
		default:
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

func (r *replicas) namespace() string {
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	match := regexp.MustCompile(`namespace: (\S+)`).FindSubmatch(text)
	if match == nil {
		r.t.Fatal(fmt.Errorf("no namespace in %s", text))
	}
	return string(match[1])
}
