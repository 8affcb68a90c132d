package watcher

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestListBusy checks that List ignores changes that follow the initial events, and does not wait
// for events that it does not read.
func TestListBusy(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	object := `"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"1","namespace":"` + r.namespace + `","resourceVersion":"VERSION"`
	lines := `{"type":"ADDED",` + strings.Replace(object, "VERSION", "5", 1) + "}}}\n" +
		`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n" +
		`{"type":"MODIFIED",` + strings.Replace(object, "VERSION", "7", 1) + "}}}\n"
	ended := make(chan struct{})
	defer close(ended)
	f.set(func(req *http.Request) *http.Response {
		reader, writer := io.Pipe()
		go func() {
			io.WriteString(writer, lines)
			<-ended
			writer.Close()
		}()
		response := respond(http.StatusOK, "")
		response.Body = reader
		return response
	})
	began := time.Now()
	objects, err := newWatcher(t, Options{Config: config, Targets: []event.Target{r.target()}}).List(t.Context())
	if err != nil || len(objects) != 1 {
		t.Errorf("List returned %d objects, %v", len(objects), err)
	}
	if took := time.Since(began); took >= 5*time.Second { // how long the source waits for an informer that has lost an event
		t.Errorf("List took %v", took)
	}
}
