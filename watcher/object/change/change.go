package change

import (
	"cmp"
	"slices"
)

// Kind says what happened to a value.
type Kind string

const (
	// Added: it is in the new object only, maybe as null. Old is nil.
	Added Kind = "added"
	// Removed: it was in the old object only, maybe as null. New is nil.
	Removed Kind = "removed"
	// Changed: another value of the same JSON type.
	Changed Kind = "changed"
	// TypeChanged: a value of another JSON type; null is one.
	TypeChanged Kind = "typeChanged"
	// Rewritten: written otherwise, with the same meaning, as 1 and 1.0 or, as a quantity, 1000m.
	Rewritten Kind = "rewritten"
	// Moved: an item has another place among those that are in both lists. Old and
	// New are its indexes (int64). What changed in it is reported besides.
	Moved Kind = "moved"
)

// Change is one difference between two objects: of a scalar, or of a map, a list or
// an item of a list that was added, removed or got another type as a whole.
type Change struct {
	Path Path
	Kind Kind
	// Old and New are the values, to be read only, without noise and hidden values.
	Old, New any
	// Masked: something in Path, Old or New is hidden.
	Masked bool
	Writer Writer
}

type Result struct {
	// Changes are sorted: fields by name, items by index, what was removed first.
	Changes []Change
	// Noise is the number of changes that were left out. What a pattern names counts
	// once, whatever changed below it.
	NoiseCount int
}

// Options say which changes count, and what is shown of them. With the zero value
// all changes count.
type Options struct {
	// Only, if there are any, names what counts, also of what was added or removed as a whole.
	Only Patterns
	// Noise is what does not count, unless Only names the same or something below.
	Noise Noise
	// Masks hide values; nil hides none.
	Masks *Masks
	// Apart: the two are not states of one object, but objects of two clusters. Who removed something
	// does not follow from their managed fields.
	DistinctObjects bool
}

// Between returns the changes from old to new, two states of one object as JSON. Each is
// valid, and a map as its one value. Numbers in the result are json.Number, as they were
// written. What both have in common is not decoded, so that most changes of a large object
// cost little.
//
// Items of lists are compared by key: by the one that field managers use (KEP-555;
// metadata.managedFields of old and new, so let them be in there), else by the first
// of name, type, key, host, ip, path, port and uid that all items have and no two
// share. Sets of scalars are compared by value. Items of other lists are compared
// along a longest common subsequence.
func Diff(old, new string, o Options) Result {
	w := walk{options: o, masks: o.Masks.rules(old, new), path: make(Path, 0, 16)}
	before, after := managedFieldsOf(old), managedFieldsOf(new)
	w.fields = fields{old: before.Raw, new: after.Raw, apart: o.DistinctObjects}
	if before.Raw != after.Raw && !w.reports(managedFields) { // they are not decoded
		old, new = replace(old, before, "0"), replace(new, after, "1")
	}
	was, is := sparse(old, new)
	w.maps(w.masks.hideManaged(was), w.masks.hideManaged(is))
	slices.SortFunc(w.changes, func(a, b Change) int {
		return cmp.Or(a.Path.compare(b.Path), cmp.Compare(b.Kind, a.Kind)) // moved before changed
	})
	return Result{w.changes, w.noise}
}

// managedFields is where objects have their managed fields.
var managedFields = Path{{Field: "metadata"}, {Field: "managedFields"}}

// reports reports whether changes at or below the path are more than noise.
func (w *walk) reports(path Path) bool {
	w.path = append(w.path[:0], path...)
	decision, _ := w.decide()
	w.path = w.path[:0]
	return decision == report || decision == split
}
