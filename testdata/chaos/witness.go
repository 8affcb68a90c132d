package main

import (
	"encoding/json"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// witness knows which states the proxy has passed on to each run of dwatch, so that
// states in between are missed, too, and not only the last ones.
//
// dwatch has to deliver what it has seen. It has seen an event if it has delivered a
// later one of the same watch: it reads them in order, and writes them down in order.
// What it got last and was killed before it could write it down, it has not.
type witness struct {
	mu      sync.Mutex
	watches []*watched
}

// state is one state of an object.
type state struct {
	uid     types.UID
	version string
}

// watched is one watch of one run of dwatch.
type watched struct {
	run    string
	states []state // after the initial events, in their order
}

// follow returns an editor that changes nothing and notes what one watch is sent. It is
// the last one of its body.
func (w *witness) follow(run string, q query) editor {
	on := &watched{run: run}
	w.mu.Lock()
	w.watches = append(w.watches, on)
	w.mu.Unlock()
	live := q.kind == resume
	return func(_ *body, frame []byte) ([]byte, error) {
		if len(frame) == 0 {
			return frame, nil
		}
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if json.Unmarshal(frame, &event) != nil {
			return frame, nil
		}
		switch {
		case event.Type == "BOOKMARK":
			live = live || event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		case live && event.Object.UID != "":
			w.mu.Lock()
			on.states = append(on.states, state{event.Object.UID, event.Object.ResourceVersion})
			w.mu.Unlock()
		}
		return frame, nil
	}
}

// missing returns the states that a dwatch has seen, and that are not in delivered. name
// is what its runs begin with.
func (w *witness) missing(name string, delivered map[state]map[string]bool) (missing []state, seen int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range w.watches {
		if !strings.HasPrefix(on.run, name+"-") {
			continue
		}
		last := -1
		for i, s := range on.states {
			if delivered[s][on.run] {
				last = i
			}
		}
		for _, s := range on.states[:last+1] {
			seen++
			if delivered[s] == nil {
				missing = append(missing, s)
			}
		}
	}
	return missing, seen
}
