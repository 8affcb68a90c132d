// Package churn counts how objects change: how often, in which fields, by whom. It finds fights, in
// which two managers undo what the other one did to a field, and hot loops, in which an object is
// written again and again and nothing changes.
//
// Memory is bounded by maxObjects objects with maxFields fields each, and by maxAllManagers managers. At
// the limit, the objects and managers with the fewest recent writes are evicted, and the field whose last
// change is the oldest. If a single change has more fields than fit, the last ones are not counted,
// because each would evict one of the others.
package churn

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const (
	maxObjects = 10_000
	maxFields  = 16  // of an object
	maxTimes   = 256 // writes without a change per object, and undone changes per field, whose times are retained

	// window is how far back writes count for fights and hot loops. A finding ends if it does not recur within quiet.
	window = 10 * time.Minute
	quiet  = 3 * time.Minute
	// fightUndone is how many undone changes within window are a fight. loopWrites is how many writes without a change
	// within loopInterval are a hot loop.
	fightUndone  = 3
	loopWrites   = 5
	loopInterval = time.Minute
)

// Key identifies an object.
type Key struct {
	Cluster string
	schema.GroupResource
	Namespace, Name string
}

// Tally counts changes. It is not safe for concurrent use.
type Tally struct {
	objects  map[Key]*Object
	managers map[string]*writes
	// EvictedObjects is the number of objects evicted because of maxObjects. UncountedChanges is the number of field
	// changes that no Field counts because of maxFields.
	EvictedObjects, UncountedChanges int
}

func New() *Tally { return &Tally{objects: map[Key]*Object{}, managers: map[string]*writes{}} }

// Object counts the changes of one object.
type Object struct {
	Key
	Target event.Target
	*event.Identity
	rate
	// MoreFields is a lower bound for the number of changed fields that are not in Fields.
	MoreFields int

	fields   []*Field    // in order of their first change
	managers counts      // writes by manager
	idle     []time.Time // the newest writes without a change, within window
	idles    recent      // number of writes without a change within window, not limited by maxTimes
	writer   string      // last known manager of a write without a change
	loop     time.Time   // when a hot loop was last found; zero means never
}

// Observe counts an event. r contains its changes, and is only read for MODIFIED. Observe returns the fights or the hot
// loop that start with the event. Fights between the same managers over several fields of an object are merged. It
// ignores status events, initial objects, reconstructed events and changes that are only noise.
func (t *Tally) Observe(e *event.Event, r *change.Result) []*Finding {
	if e.Type.IsStatus() || e.Initial || e.Reconstructed != nil {
		return nil
	}
	if e.Type == event.Modified && len(r.Changes) == 0 {
		if !isIdle(e) {
			return nil // noise
		}
		return t.observeNoOp(t.objectOf(e), e)
	}
	o := t.objectOf(e)
	o.add(e.Time)
	if e.Type != event.Modified {
		o.managers.add("") // the manager is unknown
		t.manager("", e.Time).add(e.Time)
		return nil
	}
	var by []string
	for i := range r.Changes {
		if name := nameOf(r.Changes[i].Writer); !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	for _, name := range by {
		o.managers.add(name)
		t.manager(name, e.Time).add(e.Time)
	}
	return o.newFights(t.countFields(o, r.Changes, e.Time), e.Time)
}

// newFights returns the found fights, merged, without those between managers that already fight over another field.
func (o *Object) newFights(found []*Finding, now time.Time) []*Finding {
	isKnown := func(f *Finding) bool {
		return slices.ContainsFunc(o.fields, func(other *Field) bool {
			isFound := slices.ContainsFunc(found, func(f *Finding) bool { return f.Path == other.Path })
			return !isFound && other.HasFight(now) && other.finding(now).HasSameManagers(f)
		})
	}
	return MergeFights(slices.DeleteFunc(slices.Clone(found), isKnown))
}

// countFields counts the fields of one change, and returns the fights that start with it. It counts known fields first,
// so that a new field does not evict a field of the same change.
func (t *Tally) countFields(o *Object, changes []change.Change, at time.Time) (found []*Finding) {
	var rest []int
	count := func(f *Field, c *change.Change) {
		f.write = o.Count
		if f.changed(c, at) && isNew(&f.fight, at) {
			found = append(found, f.finding(at))
		}
	}
	for i := range changes {
		if f := o.findField(changes[i].Path.String()); f != nil {
			count(f, &changes[i])
		} else {
			rest = append(rest, i)
		}
	}
	for n, i := range rest {
		f, forgotten := o.newField(changes[i].Path.String())
		t.UncountedChanges += forgotten
		if f == nil {
			t.UncountedChanges += len(rest) - n
			o.MoreFields = max(o.MoreFields, len(rest)-n)
			break
		}
		count(f, &changes[i])
	}
	return found
}

// Get returns the counts of an event's object, or nil if there are none.
func (t *Tally) Get(e *event.Event) *Object { return t.objects[keyOf(e)] }

func keyOf(e *event.Event) Key {
	return Key{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}

// objectOf returns the counts of an event's object, and adds them if needed.
func (t *Tally) objectOf(e *event.Event) *Object {
	key := keyOf(e)
	o := t.objects[key]
	if o == nil {
		t.makeRoom(e.Time)
		o = &Object{Key: key}
		t.objects[key] = o
	}
	o.Target, o.Identity = e.Target, e.Object.Identity
	return o
}

// makeRoom evicts the less active half of the objects if there are already maxObjects.
func (t *Tally) makeRoom(now time.Time) {
	if len(t.objects) < maxObjects {
		return
	}
	all := t.TopObjects(now)
	for _, o := range all[len(all)/2:] {
		delete(t.objects, o.Key)
		t.EvictedObjects++
	}
}

// TopObjects returns the objects in descending order of their writes in the last minute.
func (t *Tally) TopObjects(now time.Time) []*Object {
	writes := map[*Object]int{}
	for _, o := range t.objects {
		writes[o] = o.LastMinute(now) + o.idleSince(now.Add(-time.Minute))
	}
	return slices.SortedFunc(maps.Values(t.objects), func(a, b *Object) int {
		return cmp.Or(writes[b]-writes[a], b.Count-a.Count, a.Key.compare(b.Key))
	})
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Cluster, o.Cluster), cmp.Compare(k.Resource, o.Resource), cmp.Compare(k.Group, o.Group),
		cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Name, o.Name))
}

// NoOpWrites returns the number of writes in the ten minutes before now that changed nothing, to the precision of recent.
func (o *Object) NoOpWrites(now time.Time) int { return o.idles.count(now, window) }

// idleSince returns the number of writes since a time that changed nothing, as far as their times are retained.
func (o *Object) idleSince(since time.Time) int {
	n, _ := slices.BinarySearchFunc(o.idle, since, time.Time.Compare)
	return len(o.idle) - n
}

// observeNoOp counts a write that changed nothing, and returns the hot loop that starts with it, if any.
func (t *Tally) observeNoOp(o *Object, e *event.Event) []*Finding {
	by := ""
	if who := change.FindWriter(e.Old.Raw(), e.Object.Raw()); who.IsKnown() {
		by = nameOf(who)
		o.writer = by
	}
	o.managers.add(by)
	t.manager(by, e.Time).addIdle(e.Time)
	o.idles.add(e.Time, window)
	o.idle = append(within(o.idle, e.Time), e.Time)
	if n := len(o.idle); n < loopWrites || e.Time.Sub(o.idle[n-loopWrites]) > loopInterval {
		return nil
	}
	if !isNew(&o.loop, e.Time) {
		return nil
	}
	return []*Finding{o.hotLoop(e.Time)}
}

// within returns the part of times, in ascending order, that is in the window before now. It returns at most the last
// maxTimes times, and does not change the others.
func within(times []time.Time, now time.Time) []time.Time {
	n, _ := slices.BinarySearchFunc(times, now.Add(-window), time.Time.Compare)
	return times[max(n, len(times)-maxTimes):]
}

// isNew sets last, the time of the last finding, to now. It reports whether the last finding had ended before.
func isNew(last *time.Time, now time.Time) bool {
	continues := !last.IsZero() && now.Sub(*last) <= quiet
	*last = now
	return !continues
}
