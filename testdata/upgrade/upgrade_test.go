package upgrade

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// patience is how long something may take that has to happen.
func patience() <-chan time.Time { return time.After(2 * time.Minute) }

// process is a run of some version.
type process struct {
	*exec.Cmd
	metrics string
	ended   chan struct{} // its stderr is at its end
	mu      sync.Mutex
	said    strings.Builder
}

// start starts a program that listens.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, append(args, "--kubeconfig", cluster.Kubeconfig, "--listen", "127.0.0.1:0")...), ended: make(chan struct{})}
	stderr, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	address := make(chan string, 1)
	go func() {
		defer close(p.ended)
		at := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			fmt.Fprintln(&p.said, lines.Text())
			p.mu.Unlock()
			if found := at.FindString(lines.Text()); found != "" {
				address <- found
			}
		}
	}()
	select {
	case p.metrics = <-address:
	case <-p.ended:
		t.Fatalf("%s %q ended: %s", filepath.Base(program), args, p.text())
	case <-patience():
		t.Fatalf("%s does not listen: %s", filepath.Base(program), p.text())
	}
	return p
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// stop ends the run with SIGTERM, as a rollout does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	err := p.Process.Signal(syscall.SIGTERM)
	<-p.ended
	if waited := p.Wait(); err != nil || waited != nil {
		t.Fatalf("it ended with %v, %v: %s", err, waited, p.text())
	}
}

// isReady reports whether /readyz answers with 200, which means that dwatch has received all existing objects. It also
// returns the status.
func (p *process) isReady() (string, bool) {
	answer, err := http.Get(strings.TrimSuffix(p.metrics, "metrics") + "readyz")
	if err != nil {
		return err.Error() + ": " + p.text(), false
	}
	defer answer.Body.Close()
	return answer.Status, answer.StatusCode == http.StatusOK
}

var sample = regexp.MustCompile(`(?m)^(\w+)(?:\{.*\})? ([0-9.e+]+)$`)

// sum returns the sum of all samples of a metric.
func (p *process) sum(t *testing.T, name string) (total int) {
	t.Helper()
	answer, err := http.Get(p.metrics)
	if err != nil {
		t.Fatalf("%v: %s", err, p.text())
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
		if m[1] == name {
			n, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			total += int(n)
		}
	}
	return total
}

// until polls until is returns true.
func until(t *testing.T, what string, is func() (string, bool)) {
	t.Helper()
	for end := patience(); ; {
		said, done := is()
		if done {
			return
		}
		select {
		case <-end:
			t.Fatalf("%s: %s", what, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// writer writes ConfigMaps of a namespace.
type writer struct {
	namespace string
	client    typedv1.ConfigMapInterface
	mu        sync.Mutex
	writes    int // so many events they make
	last      map[string]int
}

func newWriter(t *testing.T) *writer {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config).CoreV1()
	ns, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &writer{namespace: ns.Name, client: client.ConfigMaps(ns.Name), last: map[string]int{}}
}

// write makes an object, or changes it.
func (w *writer) write(ctx context.Context, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, there := w.last[name]
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"n": strconv.Itoa(n + 1)}}
	var err error
	if there {
		_, err = w.client.Update(ctx, c, metav1.UpdateOptions{})
	} else {
		_, err = w.client.Create(ctx, c, metav1.CreateOptions{})
	}
	if err == nil {
		w.last[name] = n + 1
		w.writes++
	}
	return err
}

// is returns the last number of an object; -1 if it is deleted.
func (w *writer) is(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[name]
}

func (w *writer) writeAll(t *testing.T, times int, names ...string) {
	t.Helper()
	for range times {
		for _, name := range names {
			if err := w.write(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (w *writer) remove(t *testing.T, name string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.last[name] = -1
	w.writes++
}

// goOn writes the objects in turn until stop is called.
func (w *writer) goOn(t *testing.T, names ...string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := w.write(ctx, names[i%len(names)]); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond): // limits the rate
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		// A canceled write may have succeeded.
		for _, name := range names {
			c, err := w.client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				continue
			}
			w.last[name], _ = strconv.Atoi(c.Data["n"])
		}
	}
}

// rollout runs a series of versions. Each continues where the previous one was ended.
type rollout struct {
	*writer
	*receiver
	paths []string
	args  []string
}

// cold objects are only written at certain times, so that the test knows which states each run has received. hot objects
// are also written while a run is ended and until the next one is ready.
var cold, hot = []string{"a", "b", "c"}, []string{"hot-0", "hot-1", "hot-2", "hot-3"}

// through runs each of the versions, first with a receiver that accepts events, then with one that is down, so that events
// wait for the next version. Objects are also written while a run is ended and while none is running. The last run is of
// the current version.
func (r rollout) through(t *testing.T, versions ...string) {
	t.Helper()
	r.writeAll(t, 1, slices.Concat(cold, hot)...)
	var stop func()
	for i, version := range versions {
		gone, gone2 := fmt.Sprintf("gone-%d", i), fmt.Sprintf("gone-%d-away", i)
		r.set(&r.down, false)
		p := start(t, version, r.args...)
		for _, path := range r.paths {
			for _, name := range cold {
				r.await(t, path, name, r.is(name))
			}
		}
		if stop != nil {
			stop()
		}
		for _, path := range r.paths { // all earlier writes
			for name, n := range r.last {
				if !strings.HasPrefix(name, "refused") {
					r.await(t, path, name, n)
				}
			}
		}
		so, answered := r.writes, r.count()
		r.writeAll(t, 10, cold...)
		r.writeAll(t, 1, gone, gone2, fmt.Sprintf("refused-%d", i))
		expected := func() int { return answered + (r.writes-so)*len(r.paths) }
		until(t, "all events are answered", func() (string, bool) {
			return fmt.Sprintf("%d of %d: %s", r.count(), expected(), p.text()), r.count() == expected()
		})
		r.set(&r.down, true)
		r.writeAll(t, 10, cold...)
		r.remove(t, gone)
		until(t, "all other events wait", func() (string, bool) {
			waiting := p.sum(t, "dwatch_delivery_waiting_events")
			return fmt.Sprintf("%d wait, and %d of %d have been answered", waiting, r.count(), expected()), waiting+r.count() == expected()
		})
		stop = r.goOn(t, hot...)
		if i%2 == 1 { // end this run while it delivers
			r.set(&r.down, false)
		}
		r.set(&r.stopping, true)
		p.stop(t)
		r.set(&r.stopping, false)
		r.remove(t, gone2)
		r.writeAll(t, 2, "a")
	}
	r.set(&r.down, false)
	p := start(t, now, r.args...)
	for _, path := range r.paths {
		r.await(t, path, "a", r.is("a"))
	}
	stop()
	for _, path := range r.paths {
		for name, n := range r.last {
			if !strings.HasPrefix(name, "refused") {
				r.await(t, path, name, n)
			}
		}
	}
	p.stop(t)
	r.judge(t, len(versions))
}

// judge reports events that are missing, out of order, or repeated without a reason.
func (r rollout) judge(t *testing.T, versions int) {
	t.Helper()
	for _, wrong := range r.wrong {
		t.Error(wrong)
	}
	for _, path := range r.paths {
		for name := range r.last {
			got := r.of(path, name)
			deleted := len(got) > 0 && got[len(got)-1] == -1
			if !slices.IsSorted(got[:len(got)-len(map[bool][]int{true: {0}}[deleted])]) {
				t.Errorf("%s: states of %s are out of order: %v", path, name, got)
			}
			if deleted != (r.last[name] == -1) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%s: the last state of %s is %d, but got %v", path, name, r.last[name], got)
			}
		}
		// Runs receive each state that is written while they run. Of the earlier states they receive only the last.
		for _, name := range cold {
			want := r.last[name]
			if name == "a" {
				want -= versions // of the two that were written while none was there, the first
			}
			if got := r.of(path, name); len(got) != want {
				t.Errorf("%s: got %d states of %s, want %d: %v", path, len(got), name, want, got)
			}
		}
	}
	t.Logf("%d writes, %d events accepted, %d repeated because a run was ended", r.writes, len(r.ids), r.repeated())
}

// Commits that introduced a feature. Earlier versions lack it.
const (
	withRecordings = "b8d88aa7c4df16e8483a1c2f670eec2ee1e4d05c"
	withRules      = "e3df5940c49b17a0c6e06879cd4a252d24bf9c97"
)

// TestSend checks that waiting events, refused events and reported states survive an upgrade and a downgrade.
func TestSend(t *testing.T) {
	old := before(t, lastChange(t, `^\s+format[A-Za-z]* += [0-9]`, "watcher/resume/header.go"))
	kept := t.TempDir()
	letters := filepath.Join(kept, "dead")
	r := rollout{writer: newWriter(t), receiver: newReceiver(t), paths: []string{"/x"}}
	r.args = []string{
		"send", "cm", "-n", r.namespace, "--where", `object.metadata.name != "kube-root-ca.crt"`,
		"--to", r.URL + "/x", "--state", filepath.Join(kept, "state"), "--dead-letters", letters, "--drain", "1s",
	}
	r.through(t, old, now, old, now)
	text, err := os.ReadFile(letters)
	if err != nil || bytes.Count(text, []byte("\n")) != len(r.refused) || len(r.refused) != 4 {
		t.Errorf("%v, the receiver refused %v, but the dead letters are:\n%s", err, r.refused, text)
	}
	// The current version redelivers the dead letters of all versions.
	again := make(chan string, 100)
	other := newReceiver(t)
	other.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { again <- "/x " + request.Header.Get("Ce-Id") })
	if said, err := exec.Command(now, "send", "--redeliver", letters, "--to", other.URL+"/x", "--kubeconfig", cluster.Kubeconfig).CombinedOutput(); err != nil || len(again) != 4 {
		t.Fatalf("%v, %d: %s", err, len(again), said)
	}
	for range 4 {
		if id := <-again; !r.refused[id] {
			t.Errorf("%s was not given up", id)
		}
	}
}

// TestRules is the same with two rules, each with its own outbox.
func TestRules(t *testing.T) {
	old := before(t, withRules)
	kept := t.TempDir()
	r := rollout{writer: newWriter(t), receiver: newReceiver(t), paths: []string{"/x", "/y"}}
	file := filepath.Join(kept, "rules.yaml")
	text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n"
	for i, path := range r.paths {
		text += fmt.Sprintf("- {name: rule-%d, resources: [cm], namespace: %s, where: 'object.metadata.name != \"kube-root-ca.crt\"', drain: 1s, dead-letters: \"%s\", to: \"%s%s\"}\n",
			i, r.namespace, filepath.Join(kept, fmt.Sprint("dead-", i)), r.URL, path)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.args = []string{"send", "-f", file, "--state", filepath.Join(kept, "state")}
	r.through(t, old, now, old, now)
}

// TestRefused checks that a version refuses a state file of a newer format, and changes neither the file nor delivers
// anything. It uses a version before the last change of the formats.
func TestRefused(t *testing.T) {
	old := built(t, lastChange(t, `^\s+format[A-Za-z]* += [0-9]`, "watcher/resume/header.go"))
	w, r := newWriter(t), newReceiver(t)
	w.writeAll(t, 3, cold...)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"send", "cm", "-n", w.namespace, "--where", `object.metadata.name != "kube-root-ca.crt"`, "--to", r.URL + "/x", "--state", state, "--kubeconfig", cluster.Kubeconfig}
	p := start(t, now, args...)
	for _, name := range cold {
		r.await(t, "/x", name, 3)
	}
	p.stop(t)
	p = start(t, now, append(slices.Clone(args), "--shard", "1/2")...) // shards use the newest format; adapt this if another feature does
	until(t, "dwatch is ready", p.isReady)
	p.stop(t)
	w.writeAll(t, 1, cold...)
	taken := r.count()
	content, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(old, append(args, "--timeout", "2m")...).CombinedOutput()
	if err == nil || !regexp.MustCompile(`written by a newer dwatch, in format \d+, and this one knows \d+: use that dwatch, or another file`).Match(said) || r.count() != taken {
		t.Errorf("%v, %d came: %s", err, r.count()-taken, said)
	}
	if after, err := os.ReadFile(state); err != nil || !bytes.Equal(content, after) {
		t.Errorf("the state file was changed, or can't be read: %v", err)
	}
}

// TestRecord checks that a newer and an older version can append to a recording, and that both read all of it.
func TestRecord(t *testing.T) {
	old := before(t, withRecordings)
	w, recording := newWriter(t), filepath.Join(t.TempDir(), "rec")
	w.writeAll(t, 1, cold...)
	versions := []string{old, now, old, now}
	for i, version := range versions {
		gone, events := fmt.Sprintf("gone-%d", i), 0
		p := start(t, version, "record", recording, "cm", "-n", w.namespace)
		until(t, "dwatch is ready", func() (string, bool) {
			said, is := p.isReady()
			events = p.sum(t, "dwatch_events_total")
			return said, is
		})
		so := w.writes
		w.writeAll(t, 5, cold...)
		w.writeAll(t, 1, gone)
		until(t, "dwatch has received all events", func() (string, bool) {
			n := p.sum(t, "dwatch_events_total")
			return fmt.Sprintf("%d of %d", n-events, w.writes-so), n-events == w.writes-so
		})
		p.stop(t)
		w.remove(t, gone)
		w.writeAll(t, 2, "a")
	}
	p := start(t, now, "record", recording, "cm", "-n", w.namespace)
	until(t, "the recording has the last states", func() (string, bool) {
		states := played(t, now, recording, w.namespace)
		return fmt.Sprint(states), slices.Contains(states["a"], w.last["a"]) && slices.Contains(states["gone-3"], -1)
	})
	p.stop(t)
	states := played(t, now, recording, w.namespace)
	for name, last := range w.last {
		want := last
		switch {
		case name == "a":
			want -= len(versions) // of the two that were written while none was there, the first
		case last == -1:
			want = 2
		}
		if got := states[name]; len(got) != want || got[len(got)-1] != last || !slices.IsSorted(got[:len(got)-1]) {
			t.Errorf("the last state of %s is %d, but the recording has %v", name, last, got)
		}
	}
	if read := played(t, old, recording, w.namespace); fmt.Sprint(read) != fmt.Sprint(states) {
		t.Errorf("the other version reads %v, and this one %v", read, states)
	}
}

// played returns the numbers of each object in a recording, as a version reads it, without repeats. -1 is a deletion.
func played(t *testing.T, program, recording, namespace string) map[string][]int {
	t.Helper()
	text, err := exec.Command(program, "cm", "-n", namespace, "--from", recording, "-o", "json").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 4 { // 4 means that the recording has gaps
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	states := map[string][]int{}
	for line := range bytes.Lines(text) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		name, n := e.Object.Metadata.Name, e.Object.Data.N
		if e.Type == "DELETED" {
			n = -1
		}
		if so := states[name]; len(so) == 0 || so[len(so)-1] != n {
			states[name] = append(so, n)
		}
	}
	return states
}
