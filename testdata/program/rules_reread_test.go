//go:build unix

package program

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ruleReceiver is the receiver of several rules, one per path. It records the values of a ConfigMap that counts up.
type ruleReceiver struct {
	mu sync.Mutex
	of map[string][]number
	// changed is closed and replaced with each event.
	changed chan struct{}
}

type number struct {
	kind string
	n    int
}

var numberedEvent = regexp.MustCompile(`"type":"(ADDED|MODIFIED|DELETED)".*"at":"(\d+)"`)

func (r *ruleReceiver) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	match := numberedEvent.FindStringSubmatch(string(body))
	if err != nil || match == nil {
		return
	}
	n, _ := strconv.Atoi(match[2]) // the pattern only matches digits
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[q.URL.Path] = append(r.of[q.URL.Path], number{match[1], n})
	close(r.changed)
	r.changed = make(chan struct{})
}

// got waits until a path has received a number of at least n, and returns all its numbers.
func (r *ruleReceiver) got(t *testing.T, path string, n int) []number {
	t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		all, changed := append([]number(nil), r.of[path]...), r.changed
		r.mu.Unlock()
		if len(all) > 0 && all[len(all)-1].n >= n {
			return all
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%s has not received %d: %v", path, n, all)
		}
	}
}

// checkSequence checks that the numbers are consecutive.
func checkSequence(t *testing.T, path string, all []number) {
	t.Helper()
	for i, one := range all {
		if want := all[0].n + i; one.n != want || one.kind != "MODIFIED" && i > 0 {
			t.Fatalf("%s: %s %d, want MODIFIED %d", path, one.kind, one.n, want)
		}
	}
}

// TestRulesReread changes the rules file while a ConfigMap changes. An unchanged rule receives each event once, a new
// one all events since its start, a removed one no more events, and a changed one continues with the events after those
// of its predecessor.
func TestRulesReread(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("state %v", kept), func(t *testing.T) {
			t.Parallel()
			rulesReread(t, kept)
		})
	}
}

func rulesReread(t *testing.T, kept bool) {
	o, _ := room(t)
	var mu sync.Mutex
	watches := map[string]int{}
	f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
		if q := r.URL.Query(); q.Get("watch") == "true" {
			mu.Lock()
			defer mu.Unlock()
			watches[filepath.Base(r.URL.Path)]++
		}
		return false
	}}
	to := &ruleReceiver{of: map[string][]number{}, changed: make(chan struct{})}
	receiver := httptest.NewServer(to)
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.yaml")
	write := func(lines ...string) {
		t.Helper()
		text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n" + strings.Join(lines, "\n") + "\n"
		text = strings.NewReplacer("NS", o.namespace, "URL", receiver.URL).Replace(text)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(name, more string) string {
		return fmt.Sprintf(`- {name: %s, namespace: NS, %s, to: "URL/%s"}`, name, more, name)
	}
	const cm, secrets = "resources: [cm]", "resources: [secrets]"
	stays, goes := rule("stays", cm), rule("goes", "resources: [cm, secrets]")
	changes := func(to string) string {
		return `- {name: changes, namespace: NS, resources: [cm], to: "URL/` + to + `"}`
	}
	write(stays, goes, changes("before"))
	apply := func(n int) {
		t.Helper()
		text := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: seq}, data: {at: \"%d\"}}", n)
		file := filepath.Join(dir, "cm.yaml")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Error(err)
		}
		if err := o.apply(file, strings.NewReplacer()); err != nil {
			t.Error(err)
		}
	}
	apply(0)
	args := []string{"send", "-f", path, "--server", f.serve(t)}
	if kept {
		args = append(args, "--state", filepath.Join(dir, "kept"))
	}
	p := startPiped(t, "", args...)
	to.got(t, "/stays", 0)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	last := 0
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			last++
			apply(last)
		}
	})
	stopped := sync.OnceFunc(func() {
		close(stop)
		writing.Wait()
	})
	t.Cleanup(stopped)
	for _, path := range []string{"/stays", "/goes", "/before"} {
		to.got(t, path, 1)
	}
	write(stays, rule("new", cm), rule("wrong", "resources: [cm], settle: 3ms"))
	p.says(t, `^\S+/rules\.yaml:6: rule wrong: invalid --settle 3ms: `)
	p.says(t, `^\S+/rules\.yaml: keeping the previous rules$`)
	write(stays, changes("after"), rule("new", cm), rule("other", secrets))
	p.says(t, `reloaded: new: new, other; changed: changes; removed: goes; unchanged: stays$`)
	p.says(t, `^rule goes: removed`)
	p.says(t, `^rule goes: .* 0 given up, 0 waiting`)
	gone := to.got(t, "/goes", 0)
	n := to.got(t, "/new", 0)[0].n
	to.got(t, "/after", n)
	p.signal(syscall.SIGHUP)
	p.says(t, `reloaded: no changes$`)
	for _, path := range []string{"/stays", "/new", "/after"} {
		to.got(t, path, n+50)
	}
	stopped()
	for _, path := range []string{"/stays", "/new", "/after"} {
		all := to.got(t, path, last)
		checkSequence(t, path, all)
		if path == "/new" && all[0].kind != "ADDED" || path == "/after" && all[0].kind != "MODIFIED" {
			t.Errorf("%s begins with %v", path, all[0])
		}
	}
	if now := to.got(t, "/goes", 0); len(now) != len(gone) || now[len(now)-1].n >= last {
		t.Errorf("the removed rule received %d events, and then %d more", len(gone), len(now)-len(gone))
	}
	before, after := to.got(t, "/before", 0), to.got(t, "/after", 0)
	if checkSequence(t, "/before", before); before[len(before)-1].n >= after[0].n {
		t.Errorf("%v was delivered twice", after[0])
	}
	p.signal(syscall.SIGTERM)
	p.waits(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.stderr.String())
	}
	mu.Lock()
	defer mu.Unlock()
	lost := strings.Contains(p.stderr.String(), "connection lost")
	if watches["configmaps"] != 3 && !lost { // one shared by all rules, and one for the initial objects of each of two rules
		t.Errorf("watches of configmaps: %d\n%s", watches["configmaps"], p.stderr.String())
	}
}

// TestRulesRereadDenied changes a rule of a running watch after the permission for some of its resources was revoked, so
// that dwatch cannot list the existing objects. Once the permission is back, the rule receives only the differences, and
// no deletion of an existing object, although the shared watch has relisted in the meantime.
func TestRulesRereadDenied(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	var denies, forgets atomic.Bool
	running := make(chan context.CancelFunc, 100)
	refuse := func(w http.ResponseWriter, code int, reason, message string) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
		return true
	}
	f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		switch {
		case r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/configmaps"):
			return false
		case denies.Load():
			return refuse(w, http.StatusForbidden, "Forbidden", "configmaps is forbidden: not now")
		case !q.Has("watch"):
			return false
		case !q.Has("sendInitialEvents") && forgets.CompareAndSwap(true, false):
			return refuse(w, http.StatusGone, "Expired", "too old resource version")
		}
		ctx, cancel := context.WithCancel(r.Context())
		*r = *r.WithContext(ctx)
		running <- cancel
		return false
	}}
	dir := t.TempDir()
	path, file := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "cm.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rules := func(changes string) {
		t.Helper()
		const rule = "- {name: %s, namespace: %s, resources: [cm, secrets], field-selector: metadata.name!=kube-root-ca.crt, command: [/bin/sh, -c, echo %s $DWATCH_TYPE]}\n"
		write(path, "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n"+
			fmt.Sprintf(rule, "stays", o.namespace, "stays")+fmt.Sprintf(rule, "changes", o.namespace, changes))
	}
	apply := func(name, n string) {
		t.Helper()
		write(file, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {n: %q}}", name, n))
		if err := o.apply(file, strings.NewReplacer()); err != nil {
			t.Fatal(err)
		}
	}
	apply("same", "1")
	apply("other", "1")
	rules("before")
	p := startPiped(t, "", "send", "-f", path, "--server", f.serve(t))
	for _, rule := range []string{"stays: cm/%s: stays", "changes: cm/%s: before"} {
		for _, name := range []string{"same", "other"} {
			p.says(t, "^rule "+fmt.Sprintf(rule, name)+" ADDED$")
		}
	}
	cut := <-running
	denies.Store(true)
	rules("after")
	p.says(t, "reloaded: changed: changes; unchanged: stays$")
	p.says(t, "^rule changes: .*not now")
	apply("other", "2")
	p.says(t, "^rule stays: cm/other: stays MODIFIED$")
	denies.Store(false)
	forgets.Store(true)
	cut()
	p.says(t, "^configmaps in namespace "+o.namespace+": relisted at ")
	p.says(t, "^rule changes: cm/other: after MODIFIED$")
	apply("last", "1")
	p.says(t, "^rule changes: cm/last: after ADDED$")
	p.says(t, "^rule stays: cm/last: stays ADDED$")
	p.signal(syscall.SIGTERM)
	p.waits(t)
	if said := p.stderr.String(); strings.Contains(said, "DELETED") || strings.Count(said, ": after ") != 2 {
		t.Errorf("the changed rule received more than the differences:\n%s", said)
	}
}
