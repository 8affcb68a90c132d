package watcher

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
)

// silence ends a connection on which a sync makes no progress: for a while
// nothing comes or, for busySilences as long, nothing but what may be changes of
// the present. Where objects change all the time there is always something to
// tell, even if a proxy withholds the end of the initial events.
//
// Only the time counts in which the server is waited for, not that of a reader.
type silence struct {
	limit  time.Duration
	timer  *time.Timer
	since  time.Time     // when the wait for the next event began
	waited time.Duration // since the last event that was an initial one for sure
	// highest is the resourceVersion of the newest event. One that is not newer
	// than another before it is an initial one.
	highest string
}

// busySilences is how much longer a sync may have no event that is for sure an
// initial one. They may come in the order of their resourceVersions, too.
const busySilences = 6

// newSilence begins to wait for the first event. end is called when the sync makes
// no progress, unless stop is called before.
func newSilence(limit time.Duration, end func()) *silence {
	return &silence{limit: limit, timer: time.AfterFunc(limit, end), since: time.Now()}
}

// heard notes that an event has come, which the reader is now given.
func (q *silence) heard(e watch.Event) {
	q.timer.Stop() // a reader that stalls is no silence of the server
	q.waited += time.Since(q.since)
	object, err := meta.Accessor(e.Object)
	if err != nil {
		return
	}
	if version := object.GetResourceVersion(); q.highest != "" && !newer(version, q.highest) {
		q.waited = 0
	} else {
		q.highest = version
	}
}

// wait notes that the next event is waited for.
func (q *silence) wait() {
	q.since = time.Now()
	q.timer.Reset(min(q.limit, busySilences*q.limit-q.waited))
}

func (q *silence) stop() { q.timer.Stop() }
