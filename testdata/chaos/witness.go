package main

import (
	"encoding/json"
	"hash/fnv"
	"math/bits"
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

// shard is one of several parts of all objects. The zero shard is all.
type shard struct{ number, of int }

// has tells whether an object is in the shard, by the words of KEP-5866 and not by the code of dwatch, which is judged by it:
// each has a range of the hash of the UID.
func (s shard) has(uid types.UID) bool {
	if s.of < 2 {
		return true
	}
	hash := fnv.New64a()
	hash.Write([]byte(uid))
	part, _ := bits.Mul64(hash.Sum64(), uint64(s.of))
	return int(part) == s.number-1
}

// missing returns the states that a process has seen of its own objects, and that are not in delivered.
func (w *witness) missing(process string, own shard, delivered map[state]map[string]bool) (missing []state, seen int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range w.watches {
		if processOf(on.run) != process {
			continue
		}
		last := -1
		for i, s := range on.states {
			if delivered[s][on.run] {
				last = i
			}
		}
		for _, s := range on.states[:last+1] {
			if !own.has(s.uid) {
				continue
			}
			seen++
			if delivered[s] == nil {
				missing = append(missing, s)
			}
		}
	}
	return missing, seen
}
