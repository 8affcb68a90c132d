package watcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// losing is a transport that loses the lines of watches that contain text. The lists of
// verifications wait until allowed is closed.
type losing struct {
	next    http.RoundTripper
	text    atomic.Pointer[string]
	allowed chan struct{}
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		select {
		case <-l.allowed:
		case <-r.Context().Done():
		}
	}
	response, err := l.next.RoundTrip(r)
	if err != nil || r.URL.Query().Get("watch") == "" {
		return response, err
	}
	from, body := response.Body, response.Body
	read, write := io.Pipe()
	go func() {
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadBytes('\n')
			if text := l.text.Load(); text == nil || !bytes.Contains(line, []byte(*text)) {
				write.Write(line)
			}
			if err != nil {
				write.CloseWithError(err)
				return
			}
		}
	}()
	response.Body = struct {
		io.Reader
		io.Closer
	}{read, closers{body, read}}
	return response, nil
}

type closers []io.Closer

func (c closers) Close() (err error) {
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
}

// TestVerifyFindsMissed checks that the next verification finds a change, a deletion and a creation
// that the watch has lost, and that they are then reported.
func TestVerifyFindsMissed(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	lost := &losing{allowed: make(chan struct{})}
	config := rest.CopyConfig(config(t, cluster))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		lost.next = next
		return lost
	})
	r.create("lost-changed")
	r.create("lost-deleted")
	r.create("seen")
	results := make(chan Verification, 100000)
	w := watchWith(t, Options{
		Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: 4 * time.Second},
		VerifyInterval: 300 * time.Millisecond, OnVerified: func(v Verification) {
			if len(v.Missed) > 0 {
				lost.text.Store(nil) // the list that follows is complete
			}
			results <- v
		},
	})
	w.await("SYNCED", 1)
	name := `"name":"lost-`
	lost.text.Store(&name)
	r.update("lost-changed", 1)
	r.delete("lost-deleted")
	r.create("lost-created")
	r.update("seen", 1)
	w.await("MODIFIED seen=1", 1)
	close(lost.allowed)
	var missed []string
	for deadline := time.After(5 * time.Minute); missed == nil; {
		select {
		case v := <-results:
			for _, o := range v.Missed {
				missed = append(missed, o.Name)
			}
		case <-deadline:
			t.Fatal("no verification has found the missed changes")
		}
	}
	slices.Sort(missed)
	if want := []string{"lost-changed", "lost-created", "lost-deleted"}; !slices.Equal(missed, want) {
		t.Errorf("missed: %q, want %q", missed, want)
	}
	w.await("MODIFIED lost-changed=1", 1)
	w.await("DELETED unknown lost-deleted", 1)
	w.await("ADDED lost-created=0", 1)
	w.await("GAP", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// TestVerifyChangesInFlight checks that changes that arrive after the list do not count as missed,
// however late they are.
func TestVerifyChangesInFlight(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	results := make(chan Verification, 100000)
	w := watchWith(t, Options{
		Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: 4 * time.Second},
		VerifyInterval: 20 * time.Millisecond, OnVerified: func(v Verification) { results <- v },
	})
	w.await("SYNCED", 1)
	for n := range 10 {
		release := f.hold()
		for i := range 5 {
			name := fmt.Sprint("o", i)
			if n > 0 {
				r.delete(name)
			}
			r.create(name)
			r.update(name, n+1)
		}
		release()
		w.await(fmt.Sprint("MODIFIED o4=", n+1), 1)
	}
	checkAll(t, results) // those made during the changes
	for good, deadline := 0, time.After(2*time.Minute); good < 3; {
		select {
		case v := <-results:
			good += check(t, v)
		case <-deadline:
			t.Fatal("no verification had a result")
		}
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	checkAll(t, results)
}

// checkAll checks all results that are available.
func checkAll(t *testing.T, results <-chan Verification) {
	t.Helper()
	for {
		select {
		case v := <-results:
			check(t, v)
		default:
			return
		}
	}
}

// check fails if v reports missed objects. It returns 1 if v has a result, and otherwise 0.
func check(t *testing.T, v Verification) int {
	t.Helper()
	if len(v.Missed) > 0 {
		t.Fatalf("got missed objects %v, want none", v.Missed)
	}
	if v.Err != nil {
		return 0
	}
	return 1
}

// TestVerifyAcrossRelist checks that objects that a verification listed before a relist, and that
// no longer exist after it, do not count as missed. The Gap event covers them.
func TestVerifyAcrossRelist(t *testing.T) {
	for _, listed := range []string{"before the relist", "after the relist"} {
		var results []Verification
		mapping := event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)
		target := newTarget(event.Target{Mapping: mapping, Namespace: "shop"}, false)
		target.onVerified = func(v Verification) { results = append(results, v) }
		cm := func(uid, version string) *event.Identity {
			return &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: version}
		}
		list := func(from, version string, id *event.Identity) {
			target.observe(nil, source.Observation{Kind: source.SyncBegan})
			target.observe(nil, source.Observation{Kind: source.Listed, Event: event.Event{Type: event.Added, Object: event.NewObject(id, "{}")}})
			target.observe(nil, source.Observation{Kind: source.SyncEnded, Event: event.Event{From: from, ResourceVersion: version}})
		}
		target.observe(nil, source.Observation{Kind: source.Connected})
		list("", "5", cm("one", "1"))
		begin := func() bool {
			request := make(chan event.Target, 1)
			target.beginVerification(&verification{request: request})
			_, requested := <-request
			return requested
		}
		compare := func(version string, id *event.Identity) {
			target.compareListed(&verification{listed: []*event.Identity{id}, resourceVersion: version, began: time.Now(), relist: func() {}})
		}
		if !begin() {
			t.Fatal("no list was requested")
		}
		if listed == "before the relist" {
			compare("8", cm("two", "7"))
		}
		list("5", "10", cm("three", "9"))
		if listed == "after the relist" {
			compare("8", cm("two", "7"))
		}
		if len(results) != 0 {
			t.Errorf("listed %s: got results %+v, want none", listed, results)
		}
		if !begin() {
			t.Fatal("no second list was requested")
		}
		if compare("10", cm("three", "9")); len(results) != 1 || len(results[0].Missed) != 0 || results[0].Err != nil {
			t.Errorf("listed %s, second verification: %+v", listed, results)
		}
	}
}
