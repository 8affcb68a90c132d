package watcher

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestEndDuringList checks that Run waits for a list in progress when the context ends, and
// delivers nothing after it has returned.
func TestEndDuringList(t *testing.T) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	asked, answer := make(chan struct{}), make(chan struct{})
	f.set(func(req *http.Request) *http.Response {
		q := req.URL.Query()
		switch {
		case q.Get("sendInitialEvents") != "":
			return respond(http.StatusUnprocessableEntity, strings.ReplaceAll(internal, "500", "422"))
		case q.Get("watch") == "":
			close(asked)
			<-answer
			return respond(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},
				"items":[{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"}}]}`)
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	<-asked
	w.cancel()
	select {
	case <-w.done:
		t.Error("Run returned before the list")
		w.done <- nil
	case <-time.After(200 * time.Millisecond): // long enough for a faulty Run to return
	}
	close(answer)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	checkLeaks(t)
}
