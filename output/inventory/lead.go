package inventory

import (
	"time"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
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
	i.kinds[s.Target.Mapping.GroupVersionKind.GroupKind()] = s.Of.Resource
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
		c.Meant = s.isMeant(c)
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
	for range maxDepth {
		if len(about) == 0 {
			return
		}
		c.Root = above(about)
		o := i.byID[idOf(name{resource: i.kinds[c.Root.GroupKind()]}, c.Root.UID)]
		if o == nil {
			return
		}
		if o.lead != nil && (c.Lead == nil || o.lead.Time.After(c.Lead.Time)) {
			c.Lead = o.lead
		}
		about = o.state().Owners
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
func (s *State) isMeant(c *Change) bool {
	owned := len(s.Owners) > 0
	switch {
	case c.Event.Type != event.Modified, c.Diff == nil:
		return !owned
	case s.Deletion != "" && c.Before.Deletion == "":
		return !owned
	}
	var made map[string]bool
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		switch {
		case one.Path[0].Field == "status", one.Who.Subresource == "status", one.Who.Subresource == "binding":
			continue
		case !owned:
			return true
		case made == nil:
			made = makers(c.Event.Object.Raw())
		}
		if one.Who.Known() && !made[one.Who.Manager] {
			return true
		}
	}
	return false
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
