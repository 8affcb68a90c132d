package watcher

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestBusySilence checks that changes of one object do not count as progress of the initial events.
// If a proxy withholds their end, the objects are listed, and deletions are detected.
func TestBusySilence(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	r.create("b")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{SyncSilenceTimeout: time.Second}})
	w.await("SYNCED", 1)
	var writing sync.WaitGroup
	defer writing.Wait()
	ended := make(chan struct{})
	defer close(ended)
	var gone sync.Once
	f.set(func(req *http.Request) (response *http.Response) {
		if req.URL.Query().Get("sendInitialEvents") != "" {
			reader, writer := io.Pipe()
			writing.Go(func() { writeChanges(writer, ended) })
			response = respond(http.StatusOK, "")
			response.Body = reader
			return response
		}
		gone.Do(func() {
			r.delete("b")
			response = respond(http.StatusGone, expired)
		})
		return response
	})
	f.cut()
	w.await("DELETED unknown b", 1)
	w.await("GAP", 1)
	w.stop()
}

// writeChanges writes an event for an object that changes, until ended is closed.
func writeChanges(to *io.PipeWriter, ended <-chan struct{}) {
	for n := 1; ; n++ {
		_, err := fmt.Fprintf(to, `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"busy","uid":"1","resourceVersion":"%d"},"data":{"n":"1"}}}`+"\n", n)
		if err != nil {
			return
		}
		select {
		case <-ended:
			to.Close()
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
