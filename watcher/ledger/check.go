package ledger

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// check compares what was reported with what the server named, all of it as of one resourceVersion.
type check struct {
	resourceVersion string
	// deleted has what was reported as deleted since before the server was asked.
	deleted map[types.UID]bool
	// open is what differed, and may have been on its way: as the server named it, or for what it did
	// not name nil.
	open map[cache.ObjectName]*event.Identity
}

// BeginCheck opens a check, in place of one that is open: from here on deletions are noted. The
// server is to be asked after that.
func (l *Ledger) BeginCheck() { l.check = &check{deleted: map[types.UID]bool{}} }

// Compare takes what the server named: all that there was at a resourceVersion. It returns in how
// many objects that differs from what was reported, which is what was missed or is still on its way.
// If it is none the check is over.
func (l *Ledger) Compare(named []*event.Identity, resourceVersion string) (differ int) {
	if l.check == nil {
		return 0
	}
	c := l.check
	c.resourceVersion, c.open = resourceVersion, map[cache.ObjectName]*event.Identity{}
	isNamed := make(map[cache.ObjectName]struct{}, len(named))
	for _, o := range named {
		key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
		isNamed[key] = struct{}{}
		if !l.knows(key, o) {
			c.open[key] = o
		}
	}
	for key, known := range l.reported {
		if _, is := isNamed[key]; !is && !event.Newer(known.resourceVersion, resourceVersion) {
			c.open[key] = nil
		}
	}
	if differ = len(c.open); differ == 0 {
		l.check = nil
	}
	return differ
}

// EndCheck closes the check, when all has been observed that had happened when the server named what
// there was. It returns what was missed: what differed, and still does.
func (l *Ledger) EndCheck() (missed []cache.ObjectName) {
	c := l.check
	if c == nil {
		return nil
	}
	for key, o := range c.open {
		known, reported := l.reported[key]
		switch {
		case o != nil && !l.knows(key, o):
			missed = append(missed, key)
		case o == nil && reported && !event.Newer(known.resourceVersion, c.resourceVersion):
			missed = append(missed, key)
		}
	}
	l.check = nil
	return missed
}

// knows reports whether an object was reported in the state that the server named, or a later one.
func (l *Ledger) knows(key cache.ObjectName, o *event.Identity) bool {
	known, reported := l.reported[key]
	return l.check.deleted[o.UID] || reported && known.uid == o.UID && !event.Newer(o.ResourceVersion, known.resourceVersion)
}

// noteDeleted notes for an open check that a deletion is reported.
func (l *Ledger) noteDeleted(uid types.UID) {
	if l.check != nil {
		l.check.deleted[uid] = true
	}
}
