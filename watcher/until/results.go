package until

import "dwatch/watcher/event"

// results are the results of Until for the existing objects, and for the deleted ones whose
// deletion fulfilled it.
type results struct {
	holds   map[objectKey]bool
	unmet   int                       // number of objects for which Until does not hold
	pending map[objectKey]event.Event // the last event of some of them
}

// maxPending is the maximum number of retained events of unmet objects.
const maxPending = 10

func newResults() results {
	return results{holds: map[objectKey]bool{}, pending: map[objectKey]event.Event{}}
}

// set replaces the result of an object after its last event.
func (r *results) set(key objectKey, e *event.Event, holds bool) {
	r.remove(key)
	r.holds[key] = holds
	if !holds {
		r.unmet++
		if len(r.pending) < maxPending {
			r.pending[key] = *e
		}
	}
}

// remove removes the result of an object, if there is one.
func (r *results) remove(key objectKey) {
	if holds, known := r.holds[key]; known && !holds {
		r.unmet--
	}
	delete(r.holds, key)
	delete(r.pending, key)
}

// hasObjects reports whether objects of a target have been recorded, including deleted ones that
// fulfill the condition.
func (r *results) hasObjects(t event.Target) bool {
	if t.IsOneObject() {
		_, known := r.holds[objectKey{t.Cluster, t.Resource().GroupResource(), t.Namespace, t.Name}]
		return known
	}
	for key := range r.holds {
		if belongsTo(t, key) {
			return true
		}
	}
	return false
}
