package inventory

import (
	"strings"
	"sync"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Cause is an intentional change that preceded a problem. It need not be the reason.
type Cause struct {
	Entry *Entry
	// State is the state after the change.
	State   *State
	Manager string // field manager; empty if unknown
	// Summary describes the change in a few words. ShortSummary is shorter, for example only the tags of an image, or
	// empty.
	Summary, ShortSummary string
	serverTime            time.Time // time in managedFields, in seconds; zero if absent
	parts                 changedParts
}

// outOfOrder is how much later than its effect a change may arrive, because the events of two watches are not ordered.
const outOfOrder = 2 * time.Second

// causeFinder finds the causes of problems. It caches the intentional changes of entries, because finding them requires
// comparing states.
type causeFinder struct {
	mu      sync.Mutex
	scanned map[*Entry]*scannedEntry
}

// scannedEntry is the cache for one entry: the number of the last scanned state, and the intentional changes found.
type scannedEntry struct {
	number int
	causes []Cause
}

// maxCauses is how many intentional changes of an object are retained.
const maxCauses = 10

// find sets Cause and NamedCause of each problem whose beginning is known. states returns the retained states of an object.
func (c *causeFinder) find(all []Problem, states func(*Entry) []*State, o change.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make(map[*Entry]*scannedEntry, len(c.scanned))
	scanned := func(at *Entry) *scannedEntry {
		l := known[at]
		if l == nil {
			if l = c.scanned[at]; l == nil {
				l = &scannedEntry{number: -1, causes: at.intentional}
			}
			known[at] = l
			l.scan(states(at), o)
		}
		return l
	}
	for n := range all {
		p := &all[n]
		if p.Since.IsZero() { // the cause is older than the inventory
			continue
		}
		for _, up := range p.chain {
			l := scanned(up)
			if m := l.lastBefore(p.Since); m != nil && (p.Cause == nil || m.State.Time.After(p.Cause.State.Time)) {
				p.Cause = m
			}
		}
		if p.culprit != nil {
			p.NamedCause = scanned(p.culprit).namedCause(p)
		}
	}
	c.scanned = known
}

// add records an intentional change of an object whose states are not retained.
func (c *causeFinder) add(one *Change) {
	cause, is := causeOf(one)
	if !is {
		return
	}
	o := one.State.Entry
	c.mu.Lock()
	defer c.mu.Unlock()
	o.intentional = append(o.intentional[max(len(o.intentional)-maxCauses+1, 0):], cause)
	delete(c.scanned, o)
}

// lastBefore returns the latest change that precedes a time, or nil.
func (l *scannedEntry) lastBefore(t time.Time) *Cause {
	for n := len(l.causes) - 1; n >= 0; n-- {
		if one := &l.causes[n]; one.precedes(t) {
			return one
		}
	}
	return nil
}

// precedes reports whether the change was made at or before a time. A change that arrived up to outOfOrder later
// precedes it if the server recorded an earlier time.
func (c *Cause) precedes(t time.Time) bool {
	late := c.State.Time.Sub(t)
	return late <= 0 || late <= outOfOrder && !c.serverTime.IsZero() && !c.serverTime.After(t)
}

// scan scans the states of an object that were not scanned yet.
func (l *scannedEntry) scan(states []*State, o change.Options) {
	for n, s := range states {
		if s.number <= l.number {
			continue
		}
		l.number = s.number
		var before *State
		if n > 0 {
			before = states[n-1]
		}
		if cause, intentional := causeBetween(before, s, o); intentional {
			l.causes = append(l.causes[max(len(l.causes)-maxCauses+1, 0):], cause)
		}
	}
}

// causeBetween is causeOf for two consecutive states. before is nil if s is the first.
func causeBetween(before, s *State, o change.Options) (Cause, bool) {
	if before != nil && before.number != s.number-1 {
		return Cause{}, false
	}
	e := s.ToEvent(before)
	c := Change{Event: &e, State: s, Before: before}
	if before != nil && s.EventType == "" && s.Type == event.Modified {
		e.Object = event.NewObject(s.Object.Identity, s.content.unpack())
		c.Diff = new(change.Diff(before.content.unpack(), e.Object.Raw(), o))
	}
	return causeOf(&c)
}

// causeOf returns the change as a Cause if it was intentional.
func causeOf(c *Change) (Cause, bool) {
	s := c.State
	switch {
	case s.EventType != "", s.Initial, s.Type == event.Deleted:
		return Cause{}, false
	case c.Before == nil:
		return Cause{Entry: s.Entry, State: s, Summary: "it was created"}, s.Type == event.Added && len(s.Owners) == 0
	case c.Diff == nil:
		return Cause{}, false
	}
	field, is := c.firstIntentional()
	if !is {
		return Cause{}, false
	}
	return Cause{s.Entry, s, field.Writer.Manager, summarize(field), summarizeImage(field), field.Writer.Time, changedPartsOf(c)}, true
}

// summarize describes a change by the last field of its path and its values.
func summarize(c *change.Change) string {
	field := c.Path[len(c.Path)-1].Field
	for n := len(c.Path) - 2; field == "" && n >= 0; n-- { // an item of a list
		field = c.Path[n].Field
	}
	before, after := scalar(c.Old), scalar(c.New)
	if c.Masked {
		before, after = "", ""
	}
	switch {
	case c.Kind == change.Added && after != "":
		return field + " " + after
	case c.Kind == change.Added:
		return field + " added"
	case c.Kind == change.Removed && before != "":
		return field + " removed (was " + before + ")"
	case c.Kind == change.Removed:
		return field + " removed"
	case before != "" && after != "":
		return field + " " + before + " → " + after
	}
	return field + " changed"
}

// summarizeImage describes a change of an image by its tags if only the tag changed. Otherwise it returns "".
func summarizeImage(c *change.Change) string {
	before, after := scalar(c.Old), scalar(c.New)
	n := strings.LastIndexByte(before, ':') + 1
	tag, same := strings.CutPrefix(after, before[:n])
	if c.Masked || c.Path[len(c.Path)-1].Field != "image" || n == 0 || !same || strings.ContainsAny(before[n:]+tag, "/:") || strings.Contains(before, "@") {
		return ""
	}
	return "image " + before[n:] + " → " + tag
}

// scalar returns a short scalar value as text, or "" for any other value.
func scalar(value any) string {
	text, isWhole := change.Abbreviate(value)
	if value == nil || !isWhole {
		return ""
	}
	return text
}
