package source

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	"dwatch/watcher/event"
)

// silence bounds a sync without progress: for a while nothing comes or, for busySilences as long,
// nothing but what may be changes of the present. Where objects change all the time there is always
// something to report, even if a proxy withholds the end of the initial events.
//
// Only the time counts in which the server is waited for, not that of a reader.
type silence struct {
	limit  time.Duration
	since  time.Time     // when the wait for the next event began
	waited time.Duration // since the last event that was an initial one for sure
	// highest is the newest event's resourceVersion. One that is not newer is of an initial one.
	highest string
}

// busySilences is how much longer a sync may have no event that is an initial one for sure.
const busySilences = 6

// heard notes that an event has come, which the reader is now given.
func (q *silence) heard(e watch.Event) {
	q.waited += time.Since(q.since)
	object, err := meta.Accessor(e.Object)
	if err != nil {
		return
	}
	if version := object.GetResourceVersion(); q.highest != "" && !event.Newer(version, q.highest) {
		q.waited = 0
	} else {
		q.highest = version
	}
}

// wait begins the wait for the next event, and returns how long that may take.
func (q *silence) wait() time.Duration {
	q.since = time.Now()
	return min(q.limit, busySilences*q.limit-q.waited)
}
