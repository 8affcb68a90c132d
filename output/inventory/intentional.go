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

// IntentionalChange is a change that a person or tool made on purpose. Others follow from it: a rollout consists of the
// consequences of one.
type IntentionalChange struct {
	Entry *Entry
	Time  time.Time
	// IsRollout is true if the change created or modified a Pod template.
	IsRollout bool
	// ViewNumber belongs to the view, which guards it with its own lock.
	ViewNumber uint64

	lastEffect time.Time // latest consequence in which an object was in progress, failed or terminating; only for Deliver
}

// effectWindow is how long after lastEffect another change still counts as a consequence.
const effectWindow = relapseWindow

// mayCause reports whether a change at time t may be a consequence.
func (l *IntentionalChange) mayCause(t time.Time) bool {
	return l != nil && t.Sub(l.lastEffect) <= effectWindow
}

// maxDepth bounds the length of an owner chain, because owner references can form a cycle.
const maxDepth = 16

// findOrigin decides whether a significant change was intentional and, if not, which change caused it.
func (i *Inventory) findOrigin(c *Change) {
	s := c.State
	if i.options.Compare == nil {
		return
	}
	if !c.IsSignificant() {
		return
	}
	if repeat := s.Entry.countChange(c); repeat.Times > 0 {
		i.mu.Lock() // other goroutines can already read the first state of an object
		s.Repeat = repeat
		i.mu.Unlock()
	}
	about := s.Owners
	if s.EventType != "" {
		e := kubeevent.Parse(c.Event.Object.Raw())
		about = []owner.Owner{{Ref: e.InvolvedObject}}
		c.IntentionalOrWarning = e.IsWarning()
	} else {
		c.IntentionalOrWarning = c.isIntentional()
	}
	if c.IntentionalOrWarning && s.EventType == "" {
		c.CausedBy = &IntentionalChange{Entry: s.Entry, Time: s.Time, IsRollout: c.isRollout(), lastEffect: s.Time}
		s.Entry.lastIntentional = c.CausedBy
		if i.options.WithoutContent {
			i.causes.add(c)
		}
		return
	}
	i.setCauseAndRoot(c, about)
	if c.CausedBy != nil && c.isUnderWay() {
		c.CausedBy.lastEffect = s.Time
	}
}

// isRollout reports whether the change replaces Pods because it created or modified a Pod template.
func (c *Change) isRollout() bool {
	kind := c.State.Target.Mapping.GroupVersionKind.GroupKind()
	switch {
	case !owner.MayOwnPods(kind), kind.Group == "batch", c.Event.Type == event.Deleted:
		return false
	case c.Event.Type == event.Added:
		return gjson.Get(c.Event.Object.Raw(), "spec.template").Exists()
	}
	return c.Diff != nil && changesTemplate(kind, c.Diff.Changes)
}

// changesTemplate reports whether changes affect the Pod template of an object.
func changesTemplate(kind schema.GroupKind, changes []change.Change) bool {
	return owner.MayOwnPods(kind) && kind.Group != "batch" && slices.ContainsFunc(changes, func(one change.Change) bool {
		return len(one.Path) > 1 && one.Path[0].Field == "spec" && one.Path[1].Field == "template"
	})
}

// isUnderWay reports whether the object is in progress, failed or terminating, or was so before the change.
func (c *Change) isUnderWay() bool {
	for _, s := range []*State{c.State, c.Before} {
		if s != nil && (s.Status == kstatus.InProgressStatus || s.Status == kstatus.FailedStatus || s.Status == kstatus.TerminatingStatus) {
			return true
		}
	}
	return false
}

// FindCause sets CausedBy, Root and RootPending of a change again, after owners have been looked up. It must not run
// concurrently with Deliver.
func (i *Inventory) FindCause(c *Change) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	about := c.State.Owners
	if kubeEvent := c.State.KubeEvent; kubeEvent != nil {
		about = []owner.Owner{{Ref: kubeEvent.InvolvedObject}}
	}
	c.CausedBy, c.RootPending = nil, false
	i.findCauseLocked(c, about)
}

// StartUnwatchedCause assumes that Root, which is not watched, was changed, and sets CausedBy of c and of later
// consequences to that assumed change. It must not run concurrently with Deliver.
func (i *Inventory) StartUnwatchedCause(c *Change) {
	resource, _ := meta.UnsafeGuessKindToResource(c.Root.GroupVersionKind)
	called := name{c.State.Entry.Cluster, resource.GroupResource(), c.Root.Namespace, c.Root.Name}
	root := &Entry{
		ID: idOf(called, c.Root.UID), Cluster: called.cluster, Resource: called.resource, Namespace: called.namespace, Name: called.name, UID: c.Root.UID,
	}
	c.CausedBy = &IntentionalChange{Entry: root, Time: c.State.Time, lastEffect: c.State.Time}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unwatchedCauses.Add(unwatchedKey{called.cluster, c.Root.UID}, c.CausedBy)
}

// unwatchedKey identifies an object that is not watched.
type unwatchedKey struct {
	cluster string
	uid     types.UID
}

// maxUnwatchedCauses bounds the number of assumed changes of unwatched objects.
const maxUnwatchedCauses = 1000

// unwatchedCauses maps an unwatchedKey to the latest assumed change of that object.
type unwatchedCauses struct{ *lru.Cache }

// get returns the assumed change of an object, or nil.
func (u unwatchedCauses) get(cluster string, of owner.Ref) *IntentionalChange {
	cause, _ := u.Get(unwatchedKey{cluster, of.UID})
	found, _ := cause.(*IntentionalChange)
	return found
}

// setCauseAndRoot sets CausedBy, Root and RootPending of a change that was not intentional.
func (i *Inventory) setCauseAndRoot(c *Change, about []owner.Owner) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	s := c.State
	c.Root = owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name, UID: s.Entry.UID}
	i.findCauseLocked(c, about)
}

// findCauseLocked finds the latest intentional change of the object or one of its owners. It requires i.mu to be held.
func (i *Inventory) findCauseLocked(c *Change, about []owner.Owner) {
	s := c.State
	if s.Entry.lastIntentional.mayCause(s.Time) {
		c.CausedBy = s.Entry.lastIntentional
	}
	var above func(string, owner.Ref) ([]owner.Owner, bool)
	if i.options.WithoutContent && i.options.LookupOwners != nil {
		above = func(cluster string, o owner.Ref) ([]owner.Owner, bool) {
			owners, known := i.options.LookupOwners(cluster, o)
			c.RootPending = !known
			return owners, known
		}
	}
	for ref, o := range i.chainFrom((*Entry).state, above)(s.Entry.Cluster, about) {
		c.Root = ref
		cause := i.unwatchedCauses.get(s.Entry.Cluster, ref)
		if o != nil {
			cause = o.lastIntentional
		}
		if cause.mayCause(s.Time) && (c.CausedBy == nil || cause.Time.After(c.CausedBy.Time)) {
			c.CausedBy = cause
		}
	}
}

// chainFrom returns a function that climbs from an object to its root. At each step it follows the controller, or the
// first owner if there is none. last returns the state of an entry at the time in question. above returns the owners of
// objects of unwatched kinds; it may be nil.
func (i *Inventory) chainFrom(last lastState, above func(string, owner.Ref) ([]owner.Owner, bool)) ownerChain {
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

// isIntentional reports whether a change is more than the work of a controller: more than a change of the status or of
// an object that the controller created.
func (c *Change) isIntentional() bool {
	owned := len(c.State.Owners) > 0
	if c.Event.Type != event.Modified || c.Diff == nil || c.State.DeletionMessage != "" && c.Before.DeletionMessage == "" {
		return !owned
	}
	_, is := c.firstIntentional()
	return is
}

// firstIntentional returns the first changed field that a person or tool set on purpose.
func (c *Change) firstIntentional() (*change.Change, bool) {
	for one := range intentionalIn(c.Event.Object, len(c.State.Owners) > 0, c.Diff.Changes) {
		return one, true
	}
	return nil, false
}

// IntentionalChanges returns the changes of an object that a person or tool made on purpose, and whether they affect its
// Pod template.
func IntentionalChanges(o event.Object, changes []change.Change) (intentional []change.Change, rollout bool) {
	for one := range intentionalIn(o, len(owner.FromJSON(o.Raw())) > 0, changes) {
		intentional = append(intentional, *one)
	}
	return intentional, changesTemplate(o.GroupVersionKind().GroupKind(), intentional)
}

// intentionalIn yields the changes that were made on purpose. It skips changes of the status, and changes by a scheduler or by the
// object's own controllers. owned is true if the object has owners.
func intentionalIn(o event.Object, owned bool, changes []change.Change) iter.Seq[*change.Change] {
	return func(yield func(*change.Change) bool) {
		var made map[string]bool
		for n := range changes {
			one := &changes[n]
			switch {
			case one.Path[0].Field == "status", one.Writer.Subresource == "status", one.Writer.Subresource == "binding", isScheduling(o, one):
				continue
			case !owned:
			case made == nil:
				made = controllersOf(o.Raw())
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

// isScheduling reports whether a change is the assignment of a Pod to a node. The API server records no manager for it.
func isScheduling(o event.Object, one *change.Change) bool {
	return o.Kind == "Pod" && o.APIVersion == "v1" && one.Path.String() == "spec.nodeName"
}

// controllersOf returns the managers that created an object or report its status. managedFields has only the time of
// each manager's latest write, so the creator of an owned object is taken to be the manager of its ownerReferences, or
// else the manager with the oldest entry.
func controllersOf(content string) map[string]bool {
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

// IsSignificant reports whether views should show the change. Initial objects, noise and expired Events are not
// significant.
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
