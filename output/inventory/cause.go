package inventory

import (
	"strings"
	"sync"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Cause is a change that somebody meant, after which something went wrong: it need not be why.
type Cause struct {
	Entry *Entry
	// State is the one that the change led to.
	State   *State
	Manager string // a manager; empty: it is not known
	// What says in a few words what was changed, and Brief in fewer, if that can be: of an image its tags.
	Summary, ShortSummary string
	at                    time.Time // by the server, in seconds; zero: it does not say
	parts                 parts
}

// outOfOrder is how much later a change may arrive than what came of it: nothing orders two watches.
const outOfOrder = 2 * time.Second

// causes has what was found of objects in which something is wrong: to find it, states are compared.
type causes struct {
	mu    sync.Mutex
	known map[*Entry]*looked
}

// looked is how far the states of an object have been looked at, and the changes that were meant.
type looked struct {
	number int
	meant  []Cause
}

// maxMeant is how many causes of an object are held.
const maxMeant = 10

// find gives each problem its cause. states returns those of an object.
func (c *causes) find(all []Problem, states func(*Entry) []*State, o change.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make(map[*Entry]*looked, len(c.known))
	look := func(at *Entry) *looked {
		l := known[at]
		if l == nil {
			if l = c.known[at]; l == nil {
				l = &looked{number: -1, meant: at.meant}
			}
			known[at] = l
			l.at(states(at), o)
		}
		return l
	}
	for n := range all {
		p := &all[n]
		if p.Since.IsZero() { // what led to it was before all that is known
			continue
		}
		for _, up := range p.ups {
			l := look(up)
			if m := l.before(p.Since); m != nil && (p.Cause == nil || m.State.Time.After(p.Cause.State.Time)) {
				p.Cause = m
			}
		}
		if p.names != nil {
			p.NamedCause = look(p.names).of(p)
		}
	}
	c.known = known
}

// note takes over a change that was meant, of an object whose states are not held.
func (c *causes) note(one *Change) {
	cause, is := causeOf(one)
	if !is {
		return
	}
	o := one.State.Entry
	c.mu.Lock()
	defer c.mu.Unlock()
	o.meant = append(o.meant[max(len(o.meant)-maxMeant+1, 0):], cause)
	delete(c.known, o)
}

// before is the last change that was made until a time.
func (l *looked) before(t time.Time) *Cause {
	for n := len(l.meant) - 1; n >= 0; n-- {
		if one := &l.meant[n]; one.isBefore(t) {
			return one
		}
	}
	return nil
}

// isBefore reports whether the change was made until a time.
func (c *Cause) isBefore(t time.Time) bool {
	late := c.State.Time.Sub(t)
	return late <= 0 || late <= outOfOrder && !c.at.IsZero() && !c.at.After(t)
}

// at looks at the states of an object that are new.
func (l *looked) at(states []*State, o change.Options) {
	for n, s := range states {
		if s.number <= l.number {
			continue
		}
		l.number = s.number
		var before *State
		if n > 0 {
			before = states[n-1]
		}
		if cause, meant := causeBetween(before, s, o); meant {
			l.meant = append(l.meant[max(len(l.meant)-maxMeant+1, 0):], cause)
		}
	}
}

// causeBetween is causeOf for two states that are held; before is nil if s is the first.
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

// causeOf is what somebody meant by a change; false if nobody did.
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
	meant, is := c.meant()
	if !is {
		return Cause{}, false
	}
	return Cause{s.Entry, s, meant.Writer.Manager, inShort(meant), inBrief(meant), meant.Writer.Time, partsOf(c)}, true
}

// inShort says a change by the last part of its path.
func inShort(c *change.Change) string {
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

// inBrief says a new image of the same repository by its tag; empty for anything else.
func inBrief(c *change.Change) string {
	before, after := scalar(c.Old), scalar(c.New)
	n := strings.LastIndexByte(before, ':') + 1
	tag, same := strings.CutPrefix(after, before[:n])
	if c.Masked || c.Path[len(c.Path)-1].Field != "image" || n == 0 || !same || strings.ContainsAny(before[n:]+tag, "/:") || strings.Contains(before, "@") {
		return ""
	}
	return "image " + before[n:] + " → " + tag
}

// scalar is a short value as text; empty for any other.
func scalar(value any) string {
	text, isWhole := change.Abbreviate(value)
	if value == nil || !isWhole {
		return ""
	}
	return text
}
