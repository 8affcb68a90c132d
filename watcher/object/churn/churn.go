// Package churn counts how objects change: how often, in which fields, by whom. It finds fights, in
// which two managers undo what the other one did to a field, and hot loops, in which an object is
// written again and again and nothing changes.
//
// Memory: of maxObjects objects something is known, of each maxFields fields; when there are more,
// those that changed least are forgotten.
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
	maxObjects  = 10_000
	maxFields   = 16 // of an object
	maxManagers = 4  // of a field
	maxTimes    = 256

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
	schema.GroupResource
	Namespace, Name string
}

// Tally is the count. It is not safe for concurrent use.
type Tally struct {
	objects map[Key]*Object
	// Forgotten is how many objects were, as there were too many.
	Forgotten int
}

func New() *Tally { return &Tally{objects: map[Key]*Object{}} }

// Object is what is known of how one object changes.
type Object struct {
	Key
	Target event.Target
	*event.Identity
	// Times is how often it changed.
	Times  int
	last   recent
	fields []*Field // the first to change first
	idle   []time.Time
	writer change.Who // of the last write that changed nothing
	found  map[string]time.Time
}

// Field is a field of an object that changed.
type Field struct {
	Path     string
	Times    int
	Managers []Manager // the first first
	last     stroke
	undone   []time.Time
	sides    [2]stroke // of the last that was undone, and who did
}

// Manager is who changed a field.
type Manager struct {
	Name  string
	Times int
}

// stroke is one change of a field.
type stroke struct {
	by       string
	old, new value
}

// value is one in few characters, and what tells it from others.
type value struct {
	shown string
	sum   uint64
}

// Observe counts an event, of which r is what changed. It returns what is found out by it: a fight or
// a hot loop that was not there before; nil: nothing.
func (t *Tally) Observe(e *event.Event, r *change.Result) *Finding {
	if e.Type.IsMark() || e.Initial || e.Reconstructed != nil {
		return nil
	}
	if e.Type == event.Modified && len(r.Changes) == 0 {
		if !isIdle(e) {
			return nil // noise
		}
		return t.of(e).wroteNothing(e)
	}
	o := t.of(e)
	o.Times++
	o.last.add(e.Time)
	if e.Type != event.Modified {
		return nil
	}
	var found *Finding
	for i := range r.Changes {
		if f := o.field(r.Changes[i].Path.String()); f != nil {
			if f.changed(&r.Changes[i], e.Time) && o.isNew(f.Path, e.Time) {
				found = o.fight(f, e.Time)
			}
		}
	}
	return found
}

func (t *Tally) of(e *event.Event) *Object {
	key := Key{e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
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
	all := t.Top(now)
	for _, o := range all[len(all)/2:] {
		delete(t.objects, o.Key)
		t.Forgotten++
	}
}

// Top returns the objects, those first that change most.
func (t *Tally) Top(now time.Time) []*Object {
	rate := map[*Object]int{}
	for _, o := range t.objects {
		rate[o] = o.last.count(now) + len(o.idle)
	}
	return slices.SortedFunc(maps.Values(t.objects), func(a, b *Object) int {
		return cmp.Or(rate[b]-rate[a], b.Times-a.Times, cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// LastMinute returns how often the object changed in the minute before now.
func (o *Object) LastMinute(now time.Time) int { return o.last.count(now) }

// Fields returns the fields that changed, those first that did most.
func (o *Object) Fields() []*Field {
	return slices.SortedStableFunc(slices.Values(o.fields), func(a, b *Field) int { return b.Times - a.Times })
}

// field returns that of a path; nil if there are too many.
func (o *Object) field(path string) *Field {
	i := slices.IndexFunc(o.fields, func(f *Field) bool { return f.Path == path })
	switch {
	case i >= 0:
		return o.fields[i]
	case len(o.fields) == maxFields:
		return nil
	}
	f := &Field{Path: path}
	o.fields = append(o.fields, f)
	return f
}

// isNew reports whether what was found there now is not what was found and goes on.
func (o *Object) isNew(what string, now time.Time) bool {
	last, known := o.found[what]
	if o.found == nil {
		o.found = map[string]time.Time{}
	}
	o.found[what] = now
	return !known || now.Sub(last) > quiet
}

// bucketWidth is how exactly a minute is known.
const bucketWidth = 5 * time.Second

// recent counts what was in the last minute.
type recent struct {
	buckets [time.Minute / bucketWidth]struct {
		at    int64
		count int
	}
}

func (r *recent) add(at time.Time) {
	n := at.UnixNano() / int64(bucketWidth)
	b := &r.buckets[n%int64(len(r.buckets))]
	if b.at != n {
		b.at, b.count = n, 0
	}
	b.count++
}

func (r *recent) count(now time.Time) (sum int) {
	n := now.UnixNano() / int64(bucketWidth)
	for _, b := range r.buckets {
		if b.at > n-int64(len(r.buckets)) && b.at <= n {
			sum += b.count
		}
	}
	return sum
}

// within drops the times that are longer ago than the window, and the first of too many.
func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) > window })
	return times[max(0, len(times)-maxTimes):]
}
