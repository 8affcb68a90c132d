package watcher

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// hostile are lines of a live watch that no API server sends. None of them stops the watch. Tests
// change an object after each of them to see that the watch continues.
var hostile = []string{
	`{"type":"MODIFIED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"name":"t","uid":"t","resourceVersion":"1000001"}}}`,
	`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1beta1","metadata":{"name":"t","uid":"t","resourceVersion":"1000002"}}}`,
	`{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","uid":"s","resourceVersion":"1000004"}}}`,
	`{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"never","uid":"n","resourceVersion":"1000005"}}}`,
	`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"h","uid":"h","resourceVersion":"1000007"}}}`,
	`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"h","uid":"h","resourceVersion":"1000007"}}}`,
	`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"h","uid":"h","resourceVersion":"1000006"}}}`,
	`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}`,
	`{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"h","uid":"h","resourceVersion":"1000007"}}}`,
	`{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"h","uid":"h","resourceVersion":"1000007"}}}`,
}

// Each line of garbage ends the connection.
var garbage = []string{
	`{"type":"ADDED","object":null}`,
	`{"type":"ADDED"}`,
	`{"type":"ADDED","object":[]}`,
	`{"type":"RENAMED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","uid":"x","resourceVersion":"1000003"}}}`,
	`{"type":"ERROR","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"e"}}}`,
	`{]`,
}

// TestHostileWatch checks that a watch survives unexpected events, and that it can end immediately
// after any of them.
func TestHostileWatch(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		// The end must not wait for the last event.
		for i := range hostile {
			t.Run(fmt.Sprintf("%t %d", keep, i), func(t *testing.T) {
				t.Parallel()
				testHostileWatch(t, keep, append(slices.Clone(hostile), hostile[i]))
			})
		}
	}
}

func testHostileWatch(t *testing.T, keep bool, lines []string) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, KeepContent: keep})
	w.await("SYNCED", 1)
	reader, writer := io.Pipe()
	defer writer.Close()
	served := make(chan struct{}, 1)
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("watch") == "" || req.URL.Query().Get("sendInitialEvents") != "" {
			return nil
		}
		response := respond(http.StatusOK, "")
		response.Body = reader
		served <- struct{}{}
		return response
	})
	f.cut()
	<-served
	want := map[string]int{"ADDED s": 1, "ADDED h": 1, "DELETED h": 1}
	for n, line := range lines {
		// The informer handles this event only after the preceding line.
		update := fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"other","resourceVersion":"%d"},"data":{"n":"%d"}}}`, 2000000+n, n)
		text := line + "\n"
		if n < len(lines)-1 {
			text += update + "\n"
		}
		if _, err := io.WriteString(writer, text); err != nil {
			t.Fatal(err)
		}
	}
	w.await(fmt.Sprintf("MODIFIED a=%d", len(lines)-2), 1)
	ended := make(chan error, 1)
	go func() { ended <- w.stop() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(4 * time.Second): // less than the 5 seconds that the source waits for an informer that has lost an event
		t.Fatal("Run did not return in time")
	}
	got := map[string]int{}
	for _, line := range w.lines() {
		if _, known := want[line]; known {
			got[line]++
		}
		if strings.Contains(line, "never") || strings.Contains(line, " t") || strings.HasSuffix(line, " x") {
			t.Errorf("unexpected event: %s", line)
		}
	}
	for line, times := range want {
		if got[line] < times {
			t.Errorf("%s was reported only %d times: %q", line, got[line], w.lines())
		}
	}
}

// TestGarbage checks that a line that ends the connection is reported and that the watch resumes.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for i, line := range garbage {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := newSandbox(t, cluster)
			f, config := newFaults(t, cluster)
			r.create("a")
			w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
			w.await("SYNCED", 1)
			f.set(func(req *http.Request) *http.Response {
				f.set(nil)
				return respond(http.StatusOK, line+"\n")
			})
			f.cut()
			w.await("DISCONNECTED", 1)
			r.update("a", 1)
			w.await("MODIFIED a=1", 1)
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
