// Package churn counts how objects change: how often, in which fields, by whom. It finds fights, in
// which two managers undo what the other one did to a field, and hot loops, in which an object is
// written again and again and nothing changes.
//
// Memory: of maxObjects objects something is known, of each maxFields fields; when there are more, the
// objects that changed least are forgotten, and the fields that changed longest ago. Of a change of more
// fields than these the last are not counted: those before would be forgotten each time.
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
	maxFields  = 16 // of an object
	maxTimes   = 256

	// window is how far back it is looked for fights and hot loops, and quiet after what time one is over.
	window = 10 * time.Minute
	quiet  = 3 * time.Minute
	// fightUndone is how often something has to be undone, loopWrites how often something written, and
	// within what time, to be one.
	fightUndone  = 3
	loopWrites   = 5
	loopInterval = time.Minute
)

// Key is which object it is.
type Key struct {
	Cluster string
	schema.GroupResource
	Namespace, Name string
}

// Tally is the count. It is not safe for concurrent use.
type Tally struct {
	objects  map[Key]*Object
	managers map[string]*writes
	// Forgotten is how many objects were, as there were too many, and Uncounted how many changes of fields
	// are not in the count of any, as an object had too many fields.
	EvictedObjects, UncountedChanges int
}

func New() *Tally { return &Tally{objects: map[Key]*Object{}, managers: map[string]*writes{}} }

// Object is what is known of how one object changes.
type Object struct {
	Key
	Target event.Target
	*event.Identity
	rate
	// MoreFields is how many changed at least beside those that are known.
	MoreFields int

	fields []*Field // the first to change first
	by     counts   // who wrote it
	idle   []time.Time
	idles  recent    // as idle, but all of them
	writer string    // of the last write that changed nothing
	loop   time.Time // when there was one last; zero: never
}

// Observe counts an event, of which r is what changed. It returns what is found out by it: fights or
// a hot loop that were not there before. Managers that fight over several fields of an object have one fight.
func (t *Tally) Observe(e *event.Event, r *change.Result) []*Finding {
	if e.Type.IsStatus() || e.Initial || e.Reconstructed != nil {
		return nil
	}
	if e.Type == event.Modified && len(r.Changes) == 0 {
		if !isIdle(e) {
			return nil // noise
		}
		return t.wroteNothing(t.of(e), e)
	}
	o := t.of(e)
	o.add(e.Time)
	if e.Type != event.Modified {
		o.by.add("") // who created or deleted it is not said
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
		o.by.add(name)
		t.manager(name, e.Time).add(e.Time)
	}
	return o.news(t.countFields(o, r.Changes, e.Time), e.Time)
}

// news are those of the fights found that are not part of one which goes on: between the same managers, over
// another field.
func (o *Object) news(found []*Finding, now time.Time) []*Finding {
	goesOn := func(f *Finding) bool {
		return slices.ContainsFunc(o.fields, func(other *Field) bool {
			isFound := slices.ContainsFunc(found, func(f *Finding) bool { return f.Path == other.Path })
			return !isFound && other.HasFight(now) && other.finding(now).HasSameManagers(f)
		})
	}
	return MergeFights(slices.DeleteFunc(slices.Clone(found), goesOn))
}

// countFields counts the fields of one change, and returns the fights that begin with it. Those that are known
// come first, so that none of them is forgotten for another one.
func (t *Tally) countFields(o *Object, changes []change.Change, at time.Time) (found []*Finding) {
	var rest []int
	count := func(f *Field, c *change.Change) {
		f.write = o.Count
		if f.changed(c, at) && isNew(&f.fight, at) {
			found = append(found, f.finding(at))
		}
	}
	for i := range changes {
		if f := o.known(changes[i].Path.String()); f != nil {
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

// Of returns what is known of the object of an event; nil: nothing is.
func (t *Tally) Get(e *event.Event) *Object { return t.objects[keyOf(e)] }

func keyOf(e *event.Event) Key {
	return Key{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}

func (t *Tally) of(e *event.Event) *Object {
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

// makeRoom forgets half of the objects if there are too many.
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

// Top returns the objects, those first that are written most.
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

// Idle is how often the object was written in the ten minutes before now while nothing of it changed.
func (o *Object) NoOpWrites(now time.Time) int { return o.idles.count(now, window) }

func (o *Object) idleSince(since time.Time) int {
	n, _ := slices.BinarySearchFunc(o.idle, since, time.Time.Compare)
	return len(o.idle) - n
}

// wroteNothing counts a write that changed nothing, and returns a hot loop that begins with it.
func (t *Tally) wroteNothing(o *Object, e *event.Event) []*Finding {
	by := ""
	if who := change.FindWriter(e.Old.Raw(), e.Object.Raw()); who.IsKnown() {
		by = nameOf(who)
		o.writer = by
	}
	o.by.add(by)
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

// within drops the times that are longer ago than the window, and the first of too many.
func within(times []time.Time, now time.Time) []time.Time {
	times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) > window })
	return times[max(0, len(times)-maxTimes):]
}

// isNew reports whether what is found now is not what was found last and goes on, and notes it.
func isNew(last *time.Time, now time.Time) bool {
	goesOn := !last.IsZero() && now.Sub(*last) <= quiet
	*last = now
	return !goesOn
}
