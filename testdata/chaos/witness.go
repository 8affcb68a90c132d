package main

import (
	"encoding/json"
	"hash/fnv"
	"math/bits"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// witness records which states the proxy has passed on to each run of dwatch. With it, the test also finds losses of
// intermediate states, which etcd no longer has.
//
// dwatch has to deliver each event that it has received. It has received an event if it delivered a later one of the same
// watch, because it reads and stores events in order. A run that was killed may not have stored the last events that the
// proxy passed on, so these do not count.
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
	states []state // of the events after the initial ones, in order
}

// follow returns an editor that records the events of one watch, and changes nothing. It is the last editor of its body.
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

// shard is a partition of the objects. The zero value has all objects.
type shard struct{ number, of int }

// has reports whether an object is in the shard. It implements KEP-5866, in which each shard has a range of the hash of
// the UID, independently of dwatch, because it checks dwatch.
func (s shard) has(uid types.UID) bool {
	if s.of < 2 {
		return true
	}
	hash := fnv.New64a()
	hash.Write([]byte(uid))
	part, _ := bits.Mul64(hash.Sum64(), uint64(s.of))
	return int(part) == s.number-1
}

// missing returns the states that all runs of a process have certainly received, of objects in its shard, and that are
// not in delivered. seen is the number of such states including the delivered ones.
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
