package watcher

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestLateList: the watch ends while a list is on its way, and the answer comes
// all the same. Run waits for it, and nothing is emitted after its return.
func TestLateList(t *testing.T) {
	r := newRoom(t, cluster)
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
		t.Error("Run has returned before the list has")
		w.done <- nil
	case <-time.After(200 * time.Millisecond): // long enough for it to do so, as it did
	}
	close(answer)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	checkLeaks(t)
}
