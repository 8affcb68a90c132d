package inventory

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/status"
)

// inheritance tracks what objects inherit from the unhealthy objects that they own, and which states time has changed. Both
// change the status that views show without an event about the object. It is guarded by Inventory.mu.
type inheritance struct {
	worst  map[*Entry]inherited
	turned map[*Entry]*State // the states that time has changed: see State.asOf
	owners map[clusterUID]bool

	revision  uint64    // problemTracker.revision when the fields above were made
	isStale   bool      // an owner of an unhealthy object, or an object that time will change, has changed
	isPending bool      // the owners of an object are being looked up
	checked   time.Time // when the fields above were made
	took      time.Duration
	nextTurn  time.Time // when time changes the next state; zero if it changes none
}

// clusterUID identifies an object, which may not be in the inventory.
type clusterUID struct {
	cluster string
	uid     types.UID
}

// inherited is the worst state of the objects that an object owns, directly or indirectly.
type inherited struct {
	from *State
	// isFailure is true if the owner fails with it. Otherwise it only explains why the owner is in progress.
	isFailure bool
}

// isWorseThan orders failures first, and then by name, so that the result does not depend on the order of the events.
func (h inherited) isWorseThan(other inherited) bool {
	switch {
	case other.from == nil:
		return true
	case h.isFailure != other.isFailure:
		return h.isFailure
	}
	return CompareStates(h.from, other.from) < 0
}

// WithOwned returns a current state at a time, with what the object inherits from the objects that it owns: their failure,
// or the reason why they are in progress. A pod whose crash loop has ended is Current. It returns s if that changes
// nothing. What the object inherits is as of the last call of Refresh.
func (i *Inventory) WithOwned(s *State, now time.Time) *State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.withOwned(s, now)
}

func (i *Inventory) withOwned(s *State, now time.Time) *State {
	if s.Type == event.Deleted || s.EventType != "" {
		return s
	}
	return s.asOf(now).inherit(i.inheritance.worst[s.Entry])
}

// inherit returns the state with what the object inherits.
func (s *State) inherit(h inherited) *State {
	explains := s.Status == kstatus.InProgressStatus && !s.HasReason
	switch {
	case h.from == nil, s.Status == kstatus.TerminatingStatus, s.Status == kstatus.FailedStatus, !h.isFailure && !explains:
		return s
	}
	with := *s
	with.HasReason, with.SelfReported = true, true
	reason := shortKind(h.from) + "/" + h.from.Entry.Name + " " + h.from.Message
	if h.from.Message == "" {
		reason += h.from.Status.String()
	}
	if with.Message = shorten(reason); h.isFailure {
		with.Status = kstatus.FailedStatus
	} else if s.Message != "" {
		with.Message = shorten(s.Message + ": " + reason)
	}
	return &with
}

// shortKinds are the names of kubectl for the kinds that workloads own.
var shortKinds = map[string]string{"Pod": "po", "ReplicaSet": "rs", "Deployment": "deploy", "StatefulSet": "sts", "DaemonSet": "ds", "PersistentVolumeClaim": "pvc"}

func shortKind(s *State) string {
	kind := s.Target.Mapping.GroupVersionKind.Kind
	if short := shortKinds[kind]; short != "" {
		return short
	}
	return strings.ToLower(kind)
}

// refreshShare limits the time that Refresh takes to about 1/refreshShare, and refreshLatest how late it is at most.
const refreshShare, refreshLatest = 50, 2 * time.Second

// Refresh finds out what objects inherit, and what time has changed, such as a crash loop that has ended. It returns the objects whose status changed so
// since the last call, as WithOwned returns them. Callers call it after Deliver and about once a second.
func (i *Inventory) Refresh(now time.Time) (turned []*State) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.isRefreshDue(now) {
		return nil
	}
	before, hadTurned := i.inheritance.worst, i.inheritance.turned
	began := time.Now()
	last := i.findInherited(now)
	i.inheritance.took = time.Since(began)
	take := func(o *Entry) {
		if s := last(o); s != nil {
			turned = append(turned, i.withOwned(s, now))
		}
	}
	for o, h := range i.inheritance.worst {
		if before[o] != h {
			take(o)
		}
	}
	for o := range before {
		if i.inheritance.worst[o].from == nil {
			take(o)
		}
	}
	for o, s := range i.inheritance.turned {
		if hadTurned[o] != s {
			take(o)
		}
	}
	return turned
}

func (i *Inventory) isRefreshDue(now time.Time) bool {
	h := &i.inheritance
	if i.options.FullHistory {
		return !h.checked.Equal(now) || h.isStale || h.revision != i.problems.revision
	}
	age := now.Sub(h.checked).Abs()
	if age < min(refreshShare*h.took, refreshLatest) {
		return false
	}
	return h.isStale || h.revision != i.problems.revision || h.isPending && age >= time.Second || !h.nextTurn.IsZero() && !now.Before(h.nextTurn)
}

// findInherited sets inheritance from the unhealthy objects at a time, and returns the states at that time.
func (i *Inventory) findInherited(now time.Time) lastState {
	p, last := &i.problems, lastState((*Entry).existing)
	if i.options.FullHistory {
		var then problemTracker
		then, last = i.problemsAtLocked(now)
		p = &then
	}
	h := inheritance{worst: map[*Entry]inherited{}, turned: map[*Entry]*State{}, owners: map[clusterUID]bool{}, revision: i.problems.revision, checked: now}
	var above func(string, owner.Ref) ([]owner.Owner, bool)
	if i.options.LookupOwners != nil {
		above = func(cluster string, o owner.Ref) ([]owner.Owner, bool) {
			owners, known := i.options.LookupOwners(cluster, o)
			h.isPending = h.isPending || !known
			return owners, known
		}
	}
	up := i.chainFrom(last, above)
	p.advance(now)
	for o, sp := range p.unhealthy {
		if sp.ended.IsZero() && sp.lastWrong.Status != kstatus.TerminatingStatus {
			h.inherit(o, sp.lastWrong, up, last)
		}
		h.noteTime(o, last, now)
	}
	for o := range p.unexplained {
		h.noteTime(o, last, now)
	}
	i.inheritance = h
	return last
}

// noteTime notes whether time has changed the state of an object, or when it will.
func (h *inheritance) noteTime(o *Entry, last lastState, now time.Time) {
	s := last(o)
	if s == nil {
		return
	}
	if s.asOf(now) != s {
		h.turned[o] = s
		return
	}
	for _, at := range []time.Time{s.clearsAt, s.failsAt} {
		if !at.IsZero() && (h.nextTurn.IsZero() || at.Before(h.nextTurn)) {
			h.nextTurn = at
		}
	}
}

// inherit makes the owners of an unhealthy object inherit its state.
func (h *inheritance) inherit(o *Entry, s *State, up ownerChain, last lastState) {
	candidate := inherited{s, s.Status == kstatus.FailedStatus && !s.isSuperseded()}
	below := s
	for ref, parent := range up(o.Cluster, s.Owners) {
		if ref.GroupKind() == (schema.GroupKind{Kind: "Node"}) { // it owns the mirrors of its static pods, and works without them
			return
		}
		h.owners[clusterUID{o.Cluster, ref.UID}] = true
		if parent == nil {
			below = nil
			continue
		}
		if parent.Namespace != "" && parent.Namespace != o.Namespace {
			return // no owner: Kubernetes ignores references to other namespaces
		}
		is := last(parent)
		if below != nil && below.revision != "" && is.revision != "" && below.revision != is.revision {
			return // of an old template: the Deployment is about to replace it
		}
		if candidate.isWorseThan(h.worst[parent]) {
			h.worst[parent] = candidate
		}
		below = is
	}
}

// isSuperseded reports whether a failed object may be a past attempt, which its owner has repeated with another object.
func (s *State) isSuperseded() bool {
	return s.isFinishedPod || status.MayBeSuperseded(s.Target.Mapping.GroupVersionKind.GroupKind())
}

// noteChange takes the new state of an object.
func (h *inheritance) noteChange(o *Entry, s *State) {
	h.isStale = h.isStale || !s.failsAt.IsZero() || h.owners[clusterUID{o.Cluster, o.UID}]
}
