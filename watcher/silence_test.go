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

// TestBusySilence: a proxy withholds the end of the initial events, while one of
// the objects changes all the time. That is no progress of the sync: the objects
// are listed, and what is gone is found out.
func TestBusySilence(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
			writing.Go(func() { changing(writer, ended) })
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

// changing tells that an object changes, again and again.
func changing(to *io.PipeWriter, ended <-chan struct{}) {
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
