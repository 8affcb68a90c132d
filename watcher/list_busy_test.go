package watcher

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestListBusy: objects change as soon as they are named. A list takes no heed of
// that, and does not wait for what nobody hands out.
func TestListBusy(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if took := time.Since(began); took >= 5*time.Second { // an informer that is waited for in vain takes 5
		t.Errorf("it took %v", took)
	}
}
