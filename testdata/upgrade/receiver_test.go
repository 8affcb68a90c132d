package upgrade

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// receiver is a webhook that checks the delivered events. It accepts all events except of objects that are named refused.
// While it is down, it accepts none.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	down     bool
	stopping bool                // the run is being ended, so events in flight may be repeated
	taken    map[string][]*taken // by path, in the order of their first delivery
	ids      map[string]*taken   // by path and id
	refused  map[string]bool
	wrong    []string
	changed  chan struct{} // closed and replaced at each event
}

// event has the members of an event that the tests read.
type event struct {
	Type   string
	Object struct {
		Metadata struct{ Name string }
		Data     struct {
			N int `json:"n,string"`
		}
	}
}

// taken is an accepted event.
type taken struct {
	name, id, kind string
	n              int
	risky          bool // it was answered while the run was being ended
	times          int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{taken: map[string][]*taken{}, ids: map[string]*taken{}, refused: map[string]bool{}, changed: make(chan struct{})}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var line event
	if err == nil {
		err = json.Unmarshal(body, &line)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() {
		close(r.changed)
		r.changed = make(chan struct{})
	}()
	key := request.URL.Path + " " + request.Header.Get("Ce-Id")
	switch name := line.Object.Metadata.Name; {
	case err != nil:
		r.wrong = append(r.wrong, fmt.Sprintf("%v: %s", err, body))
	case r.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasPrefix(name, "refused"):
		r.refused[key] = true
		w.WriteHeader(http.StatusBadRequest)
	case r.ids[key] != nil:
		if r.ids[key].times++; !r.ids[key].risky {
			r.wrong = append(r.wrong, "again, though it was taken and no run was being ended: "+key+" "+name)
		}
		r.ids[key].risky = r.stopping
	default:
		e := &taken{name: name, id: key, kind: line.Type, n: line.Object.Data.N, risky: r.stopping, times: 1}
		r.ids[key] = e
		r.taken[request.URL.Path] = append(r.taken[request.URL.Path], e)
	}
}

func (r *receiver) set(of *bool, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*of = is
}

// count returns the number of accepted or refused events, without repeats.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids) + len(r.refused)
}

// of returns the numbers of an object that were delivered to a path. -1 is its deletion.
func (r *receiver) of(path, name string) (numbers []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.taken[path] {
		switch {
		case e.name != name:
		case e.kind == "DELETED":
			numbers = append(numbers, -1)
		default:
			numbers = append(numbers, e.n)
		}
	}
	return numbers
}

// await waits until the number last of an object was delivered to a path. -1 is its deletion.
func (r *receiver) await(t *testing.T, path, name string, last int) {
	t.Helper()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if slices.Contains(r.of(path, name), last) {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-patience():
			t.Fatalf("%s has not got %s of %s, but %v", path, fmt.Sprint(last), name, r.of(path, name))
		}
	}
}

// repeated returns the number of repeated deliveries.
func (r *receiver) repeated() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.ids {
		n += e.times - 1
	}
	return n
}
