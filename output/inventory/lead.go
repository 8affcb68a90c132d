package inventory

import (
	"iter"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Lead is a change that somebody meant, to which others led: a rollout is what followed one.
type Lead struct {
	Of   *Object
	Time time.Time
	// Number is what a view calls it, under a lock of the view's own.
	Number uint64
}

// maxDepth bounds owners above each other, which may own each other in a circle.
const maxDepth = 16

// trace says of a change that counts whether it was meant, and if not, what it followed.
func (i *Inventory) trace(c *Change) {
	s := c.State
	if i.options.Compare == nil {
		return
	}
	if !c.Counts() {
		return
	}
	s.Repeat = s.Of.repeated(c)
	about := s.Owners
	if s.EventType != "" {
		e := kubeevent.Parse(c.Event.Object.Raw())
		about = []owner.Owner{{Ref: e.About}}
		c.Meant = e.IsWarning()
	} else {
		c.Meant = c.isMeant()
	}
	if c.Meant && s.EventType == "" {
		c.Lead = &Lead{Of: s.Of, Time: s.Time}
		s.Of.lead = c.Lead
		return
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	c.Root = owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Of.Namespace, Name: s.Of.Name, UID: s.Of.UID}
	c.Lead = s.Of.lead
	for ref, o := range i.upFrom(about) {
		c.Root = ref
		if o != nil && o.lead != nil && (c.Lead == nil || o.lead.Time.After(c.Lead.Time)) {
			c.Lead = o.lead
		}
	}
}

// upFrom are the owners that manage an object, from one to the next above it; nil: it is not held,
// and what is above it is not known.
func (i *Inventory) upFrom(owners []owner.Owner) iter.Seq2[owner.Ref, *Object] {
	return func(yield func(owner.Ref, *Object) bool) {
		for range maxDepth {
			if len(owners) == 0 {
				return
			}
			ref := above(owners)
			o := i.byID[idOf(name{resource: i.kinds[ref.GroupKind()]}, ref.UID)]
			if !yield(ref, o) || o == nil {
				return
			}
			owners = o.state().Owners
		}
	}
}

// above is the one of the owners that manages an object.
func above(owners []owner.Owner) owner.Ref {
	for _, o := range owners {
		if o.Controller {
			return o.Ref
		}
	}
	return owners[0].Ref
}

// isMeant reports whether a change is more than what controllers do and say: of the status, and of
// what they made themselves.
func (c *Change) isMeant() bool {
	owned := len(c.State.Owners) > 0
	if c.Event.Type != event.Modified || c.Diff == nil || c.State.Deletion != "" && c.Before.Deletion == "" {
		return !owned
	}
	_, is := c.meant()
	return is
}

// meant is the first of what a change changed that is more than that; false if there is none.
func (c *Change) meant() (*change.Change, bool) {
	owned := len(c.State.Owners) > 0
	var made map[string]bool
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		switch {
		case one.Path[0].Field == "status", one.Who.Subresource == "status", one.Who.Subresource == "binding", isPlacing(c.State, one):
			continue
		case !owned:
			return one, true
		case made == nil:
			made = makers(c.Event.Object.Raw())
		}
		if one.Who.Known() && !made[one.Who.Manager] {
			return one, true
		}
	}
	return nil, false
}

// isPlacing: a scheduler gave a pod its node, which no manager is recorded of.
func isPlacing(s *State, one *change.Change) bool {
	return s.Object.Kind == "Pod" && s.Object.APIVersion == "v1" && one.Path.String() == "spec.nodeName"
}

// makers are the managers of an object that made it, or say how it goes.
func makers(content string) map[string]bool {
	all, first, when := map[string]bool{}, "", ""
	gjson.Get(content, "metadata.managedFields").ForEach(func(_, e gjson.Result) bool {
		manager, at := e.Get("manager").String(), e.Get("time").String()
		switch sub := e.Get("subresource").String(); {
		case sub == "status":
			all[manager] = true
		case sub == "" && (first == "" || at < when):
			first, when = manager, at
		}
		return true
	})
	all[first] = true
	return all
}

// Counts reports whether a change is one to be told of: it is more than noise, and the object did
// not exist before the start.
func (c *Change) Counts() bool {
	switch {
	case c.Event.Initial:
		return false
	case c.State.Object.IsEvent():
		return c.Event.Type != event.Deleted // they expire
	case c.Event.Type != event.Modified, c.Diff == nil:
		return true
	}
	return len(c.Diff.Changes) > 0 || c.State.Deletion != c.Before.Deletion
}
