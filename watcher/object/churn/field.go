package churn

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/object/change"
)

// Field is a field of an object that changed.
type Field struct {
	Path string
	rate
	Managers counts // in order of their first change; at most maxManagers
	write    int    // Count of the object at the last change of the field
	last     fieldChange
	undone   []time.Time    // the times within window when a manager undid a change of another
	since    time.Time      // when the change was made that the first manager in undone undid
	sides    [2]fieldChange // the last undone change and the change that undid it, by manager
	fight    time.Time      // when a fight was last found; zero means never
}

// fieldChange is one change of a field.
type fieldChange struct {
	by       string
	old, new value
	at       time.Time
}

// value is the short form of a value, and a hash to compare it.
type value struct {
	shown string
	hash  uint64
}

// Fields returns the changed fields in descending order of their changes.
func (o *Object) Fields() []*Field {
	return slices.SortedStableFunc(slices.Values(o.fields), func(a, b *Field) int { return b.Count - a.Count })
}

// findField returns the field with a path, or nil if it is not counted.
func (o *Object) findField(path string) *Field {
	if i := slices.IndexFunc(o.fields, func(f *Field) bool { return f.Path == path }); i >= 0 {
		return o.fields[i]
	}
	return nil
}

// newField adds a field. At maxFields, it evicts the field whose last change is the oldest, and returns the number of
// changes whose count is lost. It returns nil if the current write changed all counted fields.
func (o *Object) newField(path string) (f *Field, forgotten int) {
	if len(o.fields) == maxFields {
		oldest := slices.MinFunc(o.fields, func(a, b *Field) int { return cmp.Or(a.write-b.write, a.Count-b.Count) })
		if oldest.write == o.Count {
			return nil, 0
		}
		o.fields = slices.DeleteFunc(o.fields, func(f *Field) bool { return f == oldest })
		o.MoreFields, forgotten = max(o.MoreFields, 1), oldest.Count
	}
	f = &Field{Path: path}
	o.fields = append(o.fields, f)
	return f, forgotten
}

// changed counts a change of the field. It reports whether the change undoes another one, and managers now fight over the
// field.
func (f *Field) changed(c *change.Change, at time.Time) bool {
	s := fieldChange{nameOf(c.Writer), valueOf(c.Old, c.Kind == change.Added), valueOf(c.New, c.Kind == change.Removed), at}
	f.add(at)
	f.Managers.add(s.by)
	before := f.last
	f.last = s
	if s.by == "" || before.by == "" || s.by == before.by || s.new != before.old || s.old != before.new {
		return false
	}
	if f.sides[0].by != "" && f.sides[0].by != s.by && f.sides[1].by != s.by {
		f.undone = nil // a third manager joined
	}
	f.sides = [2]fieldChange{before, s}
	if s.by < before.by {
		f.sides = [2]fieldChange{s, before}
	}
	f.undo(before.at, at)
	return f.isFought()
}

// undo records that a change made at done is undone at now.
func (f *Field) undo(done, now time.Time) {
	kept := within(f.undone, now)
	switch removed := len(f.undone) - len(kept); {
	case len(kept) == 0:
		f.since = done
	case removed > 0:
		f.since = f.undone[removed-1] // a change that the first of kept undid
	}
	f.undone = append(kept, now)
}

// isFought reports whether enough changes were undone for a fight.
func (f *Field) isFought() bool { return len(f.undone) >= fightUndone }

// nameOf returns a manager, with the subresource through which it wrote, because one program may run several
// controllers. It returns an empty string if the manager is unknown. The result is a copy, so that it does not retain
// the text of the object.
func nameOf(w change.Writer) string {
	if w.Subresource == "" {
		return strings.Clone(w.Manager)
	}
	return w.Manager + " (" + w.Subresource + ")"
}

var seed = maphash.MakeSeed()

func valueOf(v any, isAbsent bool) value {
	if isAbsent {
		return value{"nothing", 0}
	}
	shown, _ := change.Abbreviate(v)
	whole, err := json.Marshal(v)
	if err != nil {
		return value{"?", 0}
	}
	return value{strings.Clone(shown), maphash.Bytes(seed, whole)}
}
