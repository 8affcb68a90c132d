package ledger

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// check compares the ledger with a list that the caller requests from the server. The event that
// explains a difference may still be on its way, so it only counts as missed if the difference
// persists until EndCheck.
type check struct {
	resourceVersion string // of the list
	// deleted contains the objects whose deletion was reported since BeginCheck.
	deleted map[types.UID]bool
	// differing contains the objects whose reported and listed states differ. The value is the listed
	// state, or nil if the object is not in the list.
	differing map[cache.ObjectName]*event.Identity
}

// BeginCheck starts a check, which replaces an unfinished one. Call it before requesting the list
// for Compare, because a check must record all deletions after the request.
func (l *Ledger) BeginCheck() { l.check = &check{deleted: map[types.UID]bool{}} }

// Compare compares the ledger with listed, a complete list at resourceVersion. It returns the number
// of objects that differ, whose events are either missing or on their way. If none differs, the
// check is finished. Without a check, it returns 0.
func (l *Ledger) Compare(listed []*event.Identity, resourceVersion string) (differing int) {
	if l.check == nil {
		return 0
	}
	c := l.check
	c.resourceVersion, c.differing = resourceVersion, map[cache.ObjectName]*event.Identity{}
	inList := make(map[cache.ObjectName]struct{}, len(listed))
	for _, o := range listed {
		key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
		inList[key] = struct{}{}
		if !l.hasReported(key, o) {
			c.differing[key] = o
		}
	}
	for key, last := range l.reported {
		if _, found := inList[key]; !found && !event.Newer(last.resourceVersion, resourceVersion) {
			c.differing[key] = nil
		}
	}
	if differing = len(c.differing); differing == 0 {
		l.check = nil
	}
	return differing
}

// EndCheck finishes the check and returns the objects that still differ from the list. If every
// change up to the list's resource version has been observed, events about them were missed. To
// abandon the check, call EndCheck earlier and ignore the result.
func (l *Ledger) EndCheck() (missed []cache.ObjectName) {
	c := l.check
	if c == nil {
		return nil
	}
	for key, o := range c.differing {
		last, found := l.reported[key]
		switch {
		case o != nil && !l.hasReported(key, o):
			missed = append(missed, key)
		case o == nil && found && !event.Newer(last.resourceVersion, c.resourceVersion):
			missed = append(missed, key)
		}
	}
	l.check = nil
	return missed
}

// hasReported reports whether the listed state of an object, a later one, or the object's deletion
// has been reported.
func (l *Ledger) hasReported(key cache.ObjectName, listed *event.Identity) bool {
	last, found := l.reported[key]
	return l.check.deleted[listed.UID] || found && last.uid == listed.UID && !event.Newer(listed.ResourceVersion, last.resourceVersion)
}

// recordDeletion records a reported deletion for the check, if there is one.
func (l *Ledger) recordDeletion(uid types.UID) {
	if l.check != nil {
		l.check.deleted[uid] = true
	}
}
