package inventory

import (
	"iter"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Lead is a change that somebody meant, to which others led: a rollout is what followed one.
type IntentionalChange struct {
	Entry *Entry
	Time  time.Time
	// Rollout: it is a template of pods that changed, or came.
	IsRollout bool
	// Number is what a view calls it, under a lock of the view's own.
	ViewNumber uint64

	goesOn time.Time // when what followed was under way last; for Deliver alone
}

// lapses is how long after the last of what followed, and was not as it should be, nothing else
// follows: what happens then has another reason.
const lapses = relapse

// leads reports whether a change at a time may have followed.
func (l *IntentionalChange) leads(t time.Time) bool { return l != nil && t.Sub(l.goesOn) <= lapses }

// maxDepth bounds owners above each other, which may own each other in a circle.
const maxDepth = 16

// trace says of a change that counts whether it was meant, and if not, what it followed.
func (i *Inventory) trace(c *Change) {
	s := c.State
	if i.options.Compare == nil {
		return
	}
	if !c.IsSignificant() {
		return
	}
	if repeat := s.Entry.repeated(c); repeat.Times > 0 {
		i.mu.Lock() // the first state of an object is there for all by now
		s.Repeat = repeat
		i.mu.Unlock()
	}
	about := s.Owners
	if s.EventType != "" {
		e := kubeevent.Parse(c.Event.Object.Raw())
		about = []owner.Owner{{Ref: e.InvolvedObject}}
		c.IntentionalOrWarning = e.IsWarning()
	} else {
		c.IntentionalOrWarning = c.isMeant()
	}
	if c.IntentionalOrWarning && s.EventType == "" {
		c.CausedBy = &IntentionalChange{Entry: s.Entry, Time: s.Time, IsRollout: c.isRollout(), goesOn: s.Time}
		s.Entry.lead = c.CausedBy
		if i.options.WithoutContent {
			i.causes.note(c)
		}
		return
	}
	i.follow(c, about)
	if c.CausedBy != nil && c.isUnderWay() {
		c.CausedBy.goesOn = s.Time
	}
}

// isRollout reports whether pods are made anew, by a template that has changed or come.
func (c *Change) isRollout() bool {
	kind := c.State.Target.Mapping.GroupVersionKind.GroupKind()
	switch {
	case !owner.MayOwnPods(kind), kind.Group == "batch", c.Event.Type == event.Deleted:
		return false
	case c.Event.Type == event.Added:
		return gjson.Get(c.Event.Object.Raw(), "spec.template").Exists()
	}
	return c.Diff != nil && rollsOut(kind, c.Diff.Changes)
}

// rollsOut reports whether changes of an object are of the template of its pods.
func rollsOut(kind schema.GroupKind, changes []change.Change) bool {
	return owner.MayOwnPods(kind) && kind.Group != "batch" && slices.ContainsFunc(changes, func(one change.Change) bool {
		return len(one.Path) > 1 && one.Path[0].Field == "spec" && one.Path[1].Field == "template"
	})
}

// isUnderWay reports whether the object is, or was before the change, not as it should be.
func (c *Change) isUnderWay() bool {
	for _, s := range []*State{c.State, c.Before} {
		if s != nil && (s.Status == kstatus.InProgressStatus || s.Status == kstatus.FailedStatus || s.Status == kstatus.TerminatingStatus) {
			return true
		}
	}
	return false
}

// Retrace finds the lead of a change, its Root and whether that is Open, now that more of what is above the object may
// be known. It may be called when no Deliver is under way.
func (i *Inventory) FindCause(c *Change) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	about := c.State.Owners
	if told := c.State.KubeEvent; told != nil {
		about = []owner.Owner{{Ref: told.InvolvedObject}}
	}
	c.CausedBy, c.RootPending = nil, false
	i.findLead(c, about)
}

// Begin has a change lead to what follows below the Root of its object, which is not watched: that something was
// changed there is all that is known. It may be called when no Deliver is under way.
func (i *Inventory) StartUnwatchedCause(c *Change) {
	resource, _ := meta.UnsafeGuessKindToResource(c.Root.GroupVersionKind)
	called := name{c.State.Entry.Cluster, resource.GroupResource(), c.Root.Namespace, c.Root.Name}
	root := &Entry{
		ID: idOf(called, c.Root.UID), Cluster: called.cluster, Resource: called.resource, Namespace: called.namespace, Name: called.name, UID: c.Root.UID,
	}
	c.CausedBy = &IntentionalChange{Entry: root, Time: c.State.Time, goesOn: c.State.Time}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unseen.Add(unseenKey{called.cluster, c.Root.UID}, c.CausedBy)
}

// unseenKey is an object in a cluster that is not watched.
type unseenKey struct {
	cluster string
	uid     types.UID
}

// maxUnseen is of how many objects that are not watched it is known what followed.
const maxUnseen = 1000

// unseen has the last lead of objects that are not watched, by unseenKey.
type unseen struct{ *lru.Cache }

// lead is that of an object; nil if there is none.
func (u unseen) lead(cluster string, of owner.Ref) *IntentionalChange {
	lead, _ := u.Get(unseenKey{cluster, of.UID})
	found, _ := lead.(*IntentionalChange)
	return found
}

// follow finds what a change followed that nobody meant, and what its object belongs to.
func (i *Inventory) follow(c *Change, about []owner.Owner) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	s := c.State
	c.Root = owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name, UID: s.Entry.UID}
	i.findLead(c, about)
}

// findLead finds the last lead of the object of a change, or of one above it. It is called under the lock.
func (i *Inventory) findLead(c *Change, about []owner.Owner) {
	s := c.State
	if s.Entry.lead.leads(s.Time) {
		c.CausedBy = s.Entry.lead
	}
	var above func(string, owner.Ref) ([]owner.Owner, bool)
	if i.options.WithoutContent && i.options.LookupOwners != nil {
		above = func(cluster string, o owner.Ref) ([]owner.Owner, bool) {
			owners, known := i.options.LookupOwners(cluster, o)
			c.RootPending = !known
			return owners, known
		}
	}
	for ref, o := range i.upFrom((*Entry).state, above)(s.Entry.Cluster, about) {
		c.Root = ref
		lead := i.unseen.lead(s.Entry.Cluster, ref)
		if o != nil {
			lead = o.lead
		}
		if lead.leads(s.Time) && (c.CausedBy == nil || lead.Time.After(c.CausedBy.Time)) {
			c.CausedBy = lead
		}
	}
}

// upFrom are the owners that manage an object, from one to the next above it, as they are by last; nil:
// it is not held, and what is above it is known by above alone, which may be nil.
func (i *Inventory) upFrom(last lastState, above func(string, owner.Ref) ([]owner.Owner, bool)) owners {
	return func(cluster string, owners []owner.Owner) iter.Seq2[owner.Ref, *Entry] {
		return func(yield func(owner.Ref, *Entry) bool) {
			for range maxDepth {
				if len(owners) == 0 {
					return
				}
				ref := owner.ControllerOrFirst(owners)
				o := i.byID[idOf(name{cluster: cluster, resource: i.kinds[ref.GroupKind()]}, ref.UID)]
				if o != nil && last(o) == nil {
					o = nil
				}
				if !yield(ref, o) {
					return
				}
				if owners = nil; o != nil {
					owners = last(o).Owners
				} else if _, isWatched := i.kinds[ref.GroupKind()]; above != nil && !isWatched {
					owners, _ = above(cluster, ref)
				}
			}
		}
	}
}

// isMeant reports whether a change is more than what controllers do and say: of the status, and of
// what they made themselves.
func (c *Change) isMeant() bool {
	owned := len(c.State.Owners) > 0
	if c.Event.Type != event.Modified || c.Diff == nil || c.State.DeletionMessage != "" && c.Before.DeletionMessage == "" {
		return !owned
	}
	_, is := c.meant()
	return is
}

// meant is the first of what a change changed that is more than that; false if there is none.
func (c *Change) meant() (*change.Change, bool) {
	for one := range meantOf(c.Event.Object, len(c.State.Owners) > 0, c.Diff.Changes) {
		return one, true
	}
	return nil, false
}

// Meant are those of the changes of an object that somebody meant, and whether pods are made anew by them:
// they are of its template.
func IntentionalChanges(o event.Object, changes []change.Change) (meant []change.Change, rollout bool) {
	for one := range meantOf(o, len(owner.FromJSON(o.Raw())) > 0, changes) {
		meant = append(meant, *one)
	}
	return meant, rollsOut(o.GroupVersionKind().GroupKind(), meant)
}

// meantOf are the changes of an object that are more than what controllers do and say.
func meantOf(o event.Object, owned bool, changes []change.Change) iter.Seq[*change.Change] {
	return func(yield func(*change.Change) bool) {
		var made map[string]bool
		for n := range changes {
			one := &changes[n]
			switch {
			case one.Path[0].Field == "status", one.Writer.Subresource == "status", one.Writer.Subresource == "binding", isPlacing(o, one):
				continue
			case !owned:
			case made == nil:
				made = makers(o.Raw())
				fallthrough
			default:
				if !one.Writer.IsKnown() || made[one.Writer.Manager] {
					continue
				}
			}
			if !yield(one) {
				return
			}
		}
	}
}

// isPlacing: a scheduler gave a pod its node, which no manager is recorded of.
func isPlacing(o event.Object, one *change.Change) bool {
	return o.Kind == "Pod" && o.APIVersion == "v1" && one.Path.String() == "spec.nodeName"
}

// makers are the managers of an object that made it, or say how it goes. When a manager wrote first is
// not known, only when it did last: so who made what belongs to something is who says to what.
func makers(content string) map[string]bool {
	all, first, when := map[string]bool{}, "", ""
	owning := false
	gjson.Get(content, "metadata.managedFields").ForEach(func(_, e gjson.Result) bool {
		manager, at := e.Get("manager").String(), e.Get("time").String()
		sub := e.Get("subresource").String()
		owns := sub == "" && e.Get("fieldsV1.f:metadata.f:ownerReferences").Exists()
		switch {
		case sub == "status", owns:
			all[manager], owning = true, owning || owns
		case sub == "" && (first == "" || at < when):
			first, when = manager, at
		}
		return true
	})
	if !owning {
		all[first] = true
	}
	return all
}

// Counts reports whether a change is one to be told of: it is more than noise, and the object did
// not exist before the start.
func (c *Change) IsSignificant() bool {
	switch {
	case c.Event.Initial:
		return false
	case c.State.Object.IsEvent():
		return c.Event.Type != event.Deleted // they expire
	case c.Event.Type != event.Modified, c.Diff == nil:
		return true
	}
	return len(c.Diff.Changes) > 0 || c.State.DeletionMessage != c.Before.DeletionMessage
}
