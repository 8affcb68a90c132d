package source

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	"dwatch/watcher/event"
)

// silence detects that the initial events make no progress: nothing arrives for the limit, or for
// busySilences times as long only events arrive that may be current changes. The second condition is
// needed because something always arrives if objects change all the time, even if a proxy withholds
// the end of the initial events.
//
// Only the time of waiting for the server counts, not the time in which the Sink is busy.
type silence struct {
	limit  time.Duration
	since  time.Time     // when the wait for the next event began
	waited time.Duration // total wait since the last event that certainly was an initial one
	// highest is the newest resourceVersion received. An event that is not newer is certainly an
	// initial one.
	highest string
}

// busySilences is how many times the limit may pass without an event that certainly was an initial
// one.
const busySilences = 6

// noteEvent records that an event has arrived.
func (s *silence) noteEvent(e watch.Event) {
	s.waited += time.Since(s.since)
	object, err := meta.Accessor(e.Object)
	if err != nil {
		return
	}
	if version := object.GetResourceVersion(); s.highest != "" && !event.Newer(version, s.highest) {
		s.waited = 0
	} else {
		s.highest = version
	}
}

// wait starts the wait for the next event, and returns how long it may take.
func (s *silence) wait() time.Duration {
	s.since = time.Now()
	return min(s.limit, busySilences*s.limit-s.waited)
}
