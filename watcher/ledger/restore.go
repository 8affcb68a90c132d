package ledger

import (
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// Restore notes what an earlier run reported of an object, before anything is
// observed: the first sync is then like one after a long outage. Of several with
// one name, each takes the place of those before it, whose deletion is reported
// with whatever is reported first.
func (l *Ledger) Restore(r event.Reported) {
	key := cache.ObjectName{Namespace: r.Namespace, Name: r.Name}
	if known, reported := l.reported[key]; reported {
		l.pending = append(l.pending, l.lost(key, known, event.Object{}, true))
	}
	l.reported[key] = entry{uid: r.UID, resourceVersion: r.ResourceVersion, unsure: r.Unsure}
}

// TakeOver makes what other has reported count as reported here, before anything
// is observed. other is not to be used any more.
func (l *Ledger) TakeOver(other *Ledger) {
	l.pending = append(l.pending, other.pending...)
	for key, known := range other.reported {
		known.epoch = l.epoch
		l.reported[key] = known
	}
}
