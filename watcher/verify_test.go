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

// losing is a client's transport over which lines of watches are lost that have a text. The server is
// asked what there is, to be compared, once that is allowed.
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

// TestVerifyFindsMiss: what the watch has lost, a change, a deletion and a creation, is found by the
// next comparison, and reported.
func TestVerifyFindsMiss(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
				lost.text.Store(nil) // it is seen when all is listed
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
			t.Fatal("nothing is said to have been missed")
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

// TestVerifyChangesInFlight: what is on its way while the server is asked was not missed, however late
// it comes.
func TestVerifyChangesInFlight(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
	goodOf(t, results) // of the time of the changes
	for good, deadline := 0, time.After(2*time.Minute); good < 3; {
		select {
		case v := <-results:
			good += goodOne(t, v)
		case <-deadline:
			t.Fatal("nothing was compared")
		}
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	goodOf(t, results)
}

// goodOf takes all results that there are by now.
func goodOf(t *testing.T, results <-chan Verification) {
	t.Helper()
	for {
		select {
		case v := <-results:
			goodOne(t, v)
		default:
			return
		}
	}
}

// goodOne is 1 if nothing was missed, and 0 if that could not be known.
func goodOne(t *testing.T, v Verification) int {
	t.Helper()
	if len(v.Missed) > 0 {
		t.Fatalf("nothing was missed, but it says: %v", v.Missed)
	}
	if v.Err != nil {
		return 0
	}
	return 1
}

// TestVerifyAcrossRelist: what was named before all is listed anew, and is gone then, was not missed: that states in between may be
// missing is what a gap says.
func TestVerifyAcrossRelist(t *testing.T) {
	for _, named := range []string{"before the relist", "after the relist"} {
		var results []Verification
		mapping := event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)
		at := newTarget(event.Target{Mapping: mapping, Namespace: "shop"}, false)
		at.verified = func(v Verification) { results = append(results, v) }
		cm := func(uid, version string) *event.Identity {
			return &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: version}
		}
		list := func(from, version string, of *event.Identity) {
			at.observe(nil, source.Observation{Kind: source.SyncBegan})
			at.observe(nil, source.Observation{Kind: source.Listed, Event: event.Event{Type: event.Added, Object: event.NewObject(of, "{}")}})
			at.observe(nil, source.Observation{Kind: source.SyncEnded, Event: event.Event{From: from, ResourceVersion: version}})
		}
		at.observe(nil, source.Observation{Kind: source.Connected})
		list("", "5", cm("one", "1"))
		begun := func() bool {
			asked := make(chan event.Target, 1)
			at.beginVerification(&verification{asked: asked})
			_, is := <-asked
			return is
		}
		compare := func(version string, of *event.Identity) {
			at.compare(&verification{named: []*event.Identity{of}, at: version, began: time.Now(), relist: func() {}})
		}
		if !begun() {
			t.Fatal("it is not compared")
		}
		if named == "before the relist" {
			compare("8", cm("two", "7"))
		}
		list("5", "10", cm("three", "9"))
		if named == "after the relist" {
			compare("8", cm("two", "7"))
		}
		if len(results) != 0 {
			t.Errorf("named %s: %+v", named, results)
		}
		if !begun() {
			t.Fatal("it is not compared again")
		}
		if compare("10", cm("three", "9")); len(results) != 1 || len(results[0].Missed) != 0 || results[0].Err != nil {
			t.Errorf("named %s, and again: %+v", named, results)
		}
	}
}
