package watcher

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"dwatch/watcher/event"
)

// warnings is a rest.WarningHandler that records the warnings of dwatch.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.all, text) {
		w.all = append(w.all, text)
	}
}

// badObjects is a sandbox behind a server that sends invalid objects.
type badObjects struct {
	*sandbox
	*faults
	config   *rest.Config
	warnings *warnings
}

func newBadObjects(t *testing.T) *badObjects {
	b := &badObjects{sandbox: newSandbox(t, cluster), warnings: &warnings{}}
	b.faults, b.config = newFaults(t, cluster)
	b.config.WarningHandler = b.warnings
	return b
}

// object returns a ConfigMap with data.n = n, which is not encoded.
func (b *badObjects) object(name string, version int, n string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"%s","uid":"%s","resourceVersion":"%d"},"data":{"n":%s}}`,
		name, b.namespace, name, version, n)
}

// initialEvents returns the events for objects and the bookmark that ends them.
func initialEvents(objects ...string) string {
	var events strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&events, `{"type":"ADDED","object":%s}`+"\n", o)
	}
	return events.String() + `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1000","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
}

// notUTF8 is a JSON string with a byte that is not UTF-8.
const notUTF8 = "\"a\xffb\""

func (b *badObjects) checkWarnings(t *testing.T, want ...string) {
	t.Helper()
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "NAMESPACE", b.namespace)
	}
	b.warnings.mu.Lock()
	defer b.warnings.mu.Unlock()
	if diff := cmp.Diff(want, b.warnings.all); diff != "" {
		t.Errorf("warnings: %s", diff)
	}
}

// TestInvalidUTF8 checks that an object that is not valid UTF-8 is shown with U+FFFD, that a warning
// names it, and that the others are shown, in initial events, changes and lists.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			t.Parallel()
			b := newBadObjects(t)
			objects := []string{b.object("bad", 1, notUTF8), b.object("good", 2, `"0"`)}
			b.set(func(req *http.Request) *http.Response {
				query := req.URL.Query()
				switch {
				case query.Get("sendInitialEvents") != "" && !streams:
					return respond(http.StatusUnprocessableEntity, unprocessable)
				case query.Get("sendInitialEvents") != "":
					return respond(http.StatusOK, initialEvents(objects...)+`{"type":"MODIFIED","object":`+b.object("bad2", 1001, notUTF8)+"}\n"+
						`{"type":"MODIFIED","object":`+b.object("good", 1002, `"1"`)+"}\n")
				case query.Get("watch") == "" && query.Get("limit") != "1":
					return respond(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[`+strings.Join(objects, ",")+"]}")
				case query.Get("watch") != "" && query.Get("resourceVersion") == "1000":
					return respond(http.StatusOK, `{"type":"MODIFIED","object":`+b.object("bad2", 1001, notUTF8)+"}\n"+
						`{"type":"MODIFIED","object":`+b.object("good", 1002, `"1"`)+"}\n")
				}
				<-req.Context().Done()
				return respond(http.StatusGatewayTimeout, internal)
			})
			w := watchWith(t, Options{Config: b.config, Targets: []event.Target{b.target()}})
			w.await("MODIFIED good=1", 1)
			if err := w.stop(); err != nil {
				t.Error(err)
			}
			want := []string{"ADDED initial bad=a\ufffdb", "ADDED initial good=0", "SYNCED", "ADDED bad2=a\ufffdb", "MODIFIED good=1"}
			if diff := cmp.Diff(want, w.lines()); diff != "" {
				t.Error(diff)
			}
			const warning = " is not valid UTF-8: invalid bytes are shown as U+FFFD"
			b.checkWarnings(t, "ConfigMap NAMESPACE/bad"+warning, "ConfigMap NAMESPACE/bad2"+warning)
			listed, err := newWatcher(t, Options{Config: b.config, Targets: []event.Target{b.target()}}).List(t.Context())
			if err != nil || len(listed) < 2 || !strings.Contains(listed[0].Raw(), "a\ufffdb") {
				t.Errorf("List returned %v, %v", listed, err)
			}
		})
	}
}

// TestUnreadableObject checks that an object that is not valid JSON does not end the stream, is not
// reported as deleted, and is reported again when it is readable. Only its deletion is reported.
func TestUnreadableObject(t *testing.T) {
	t.Parallel()
	b := newBadObjects(t)
	const broken = `"0"x`
	next := make(chan struct{})
	b.set(func(req *http.Request) *http.Response {
		query := req.URL.Query()
		switch version := query.Get("resourceVersion"); {
		case query.Get("sendInitialEvents") != "":
			return respond(http.StatusOK, initialEvents(b.object("bad", 5, broken), b.object("changed", 4, broken), b.object("good", 7, `"0"`)))
		case query.Get("watch") == "":
			return respond(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[]}`)
		case version == "1000":
			return respond(http.StatusOK, `{"type":"MODIFIED","object":`+b.object("bad", 1001, `"1"`)+"}\n"+
				`{"type":"MODIFIED","object":`+b.object("good", 1002, broken)+"}\n"+
				`{"type":"DELETED","object":`+b.object("bad", 1003, broken)+"}\n"+
				`{"type":"MODIFIED","object":`+b.object("good", 1004, `"1"`)+"}\n")
		}
		select {
		case <-next:
		case <-req.Context().Done():
		}
		return respond(http.StatusGatewayTimeout, internal)
	})
	reported := event.ReportedObject{Namespace: b.namespace, UID: "changed", Name: "changed", ResourceVersion: "3"}
	w := watchWith(t, Options{
		Config: b.config, Targets: []event.Target{b.target()},
		History: func(_ event.Target, yield func(event.ReportedObject)) (bool, error) {
			yield(reported)
			return true, nil
		},
	})
	w.await("MODIFIED good=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	close(next)
	want := []string{"ADDED good=0", "SYNCED", "ADDED bad=1", "DELETED unknown bad", "MODIFIED good=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
	const warning = " is not valid JSON: its state is unknown until it changes"
	b.checkWarnings(t, "ConfigMap NAMESPACE/bad"+warning, "ConfigMap NAMESPACE/changed"+warning, "ConfigMap NAMESPACE/good"+warning)
}

// TestUnreadableInList checks that an object of a list that is not valid JSON does not hide the others, is not reported as deleted, and
// is named, and that List returns the others with an error.
func TestUnreadableInList(t *testing.T) {
	t.Parallel()
	b := newBadObjects(t)
	b.set(func(req *http.Request) *http.Response {
		query := req.URL.Query()
		switch {
		case query.Get("sendInitialEvents") != "":
			return respond(http.StatusUnprocessableEntity, unprocessable)
		case query.Get("watch") == "" && query.Get("limit") != "1":
			items := []string{b.object("bad", 5, `"0"x`), b.object("good", 7, `"0"`)}
			return respond(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[`+strings.Join(items, ",")+"]}")
		case query.Get("resourceVersion") == "1000":
			return respond(http.StatusOK, `{"type":"MODIFIED","object":`+b.object("bad", 1001, `"1"`)+"}\n")
		}
		<-req.Context().Done()
		return respond(http.StatusGatewayTimeout, internal)
	})
	w := watchWith(t, Options{Config: b.config, Targets: []event.Target{b.target()}})
	w.await("ADDED bad=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"ADDED initial good=0", "SYNCED", "ADDED bad=1"}, w.lines()); diff != "" {
		t.Error(diff)
	}
	b.checkWarnings(t, "ConfigMap NAMESPACE/bad is not valid JSON: its state is unknown until it changes")
	listed, err := newWatcher(t, Options{Config: b.config, Targets: []event.Target{b.target()}}).List(t.Context())
	if len(listed) != 1 || listed[0].Name != "good" || !IsOnlyUnreadable(err) || err.Error() != "1 objects of configmaps are missing, as they are not valid JSON: "+b.namespace+"/bad" {
		t.Errorf("List returned %v, %v", listed, err)
	}
}

// TestNamelessEvent checks that an event without the name of an object leads to a new list, because a change may be missing.
func TestNamelessEvent(t *testing.T) {
	t.Parallel()
	b := newBadObjects(t)
	nameless := `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1001"}}}` + "\n"
	var lists atomic.Int32
	b.set(func(req *http.Request) *http.Response {
		query := req.URL.Query()
		switch {
		case query.Get("sendInitialEvents") != "" && lists.Add(1) == 1:
			return respond(http.StatusOK, initialEvents(b.object("good", 7, `"0"`))+nameless)
		case query.Get("sendInitialEvents") != "":
			return respond(http.StatusOK, initialEvents(b.object("good", 8, `"1"`)))
		case query.Get("watch") == "":
			return respond(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[]}`)
		}
		<-req.Context().Done()
		return respond(http.StatusGatewayTimeout, internal)
	})
	w := watchWith(t, Options{Config: b.config, Targets: []event.Target{b.target()}})
	w.await("GAP", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	t.Log(w.lines())
	if diff := cmp.Diff([]string{"ADDED initial good=0", "SYNCED", "MODIFIED good=1", "GAP"}, w.lines()); diff != "" {
		t.Error(diff)
	}
}
