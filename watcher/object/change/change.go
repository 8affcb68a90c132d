package change

import (
	"cmp"
	"slices"
)

// Kind is the type of a change.
type Kind string

const (
	// Added values exist only in the new object. They may be null. Old is nil.
	Added Kind = "added"
	// Removed values existed only in the old object. They may have been null. New is nil.
	Removed Kind = "removed"
	// Changed values have the same JSON type as before.
	Changed Kind = "changed"
	// TypeChanged values have another JSON type than before. Null is a type.
	TypeChanged Kind = "typeChanged"
	// Rewritten values have another spelling with the same meaning, such as 1 and 1.0, or the quantities 1 and 1000m.
	Rewritten Kind = "rewritten"
	// Moved items are in both lists, at another position relative to the other common items. Old and New are the two
	// indexes (int64). Changes in the item are separate.
	Moved Kind = "moved"
)

// Change is one difference between two objects: of a scalar, or of a map, list or list item that was added, was removed
// or got another type as a whole.
type Change struct {
	Path Path
	Kind Kind
	// Old and New are the values without noise, with hidden values masked. They must not be modified.
	Old, New any
	// Masked is true if a value in Path, Old or New is hidden.
	Masked bool
	Writer Writer
}

type Result struct {
	// Changes are sorted: fields by name, items by index, and a removed item before the item that has its index now.
	Changes []Change
	// NoiseCount is the number of changes that were left out as noise. All changes below the path of a noise pattern
	// count as one.
	NoiseCount int
}

// Options select the changes to report and the values to hide. The zero value reports all changes and hides nothing.
type Options struct {
	// Only restricts the result to changes at or below these paths, including parts of values that were added or removed
	// as a whole. If empty, all changes are reported.
	Only Patterns
	// Noise is left out, unless a pattern of Only names the same path or one below it.
	Noise Noise
	// Masks hide values. Nil hides none.
	Masks *Masks
	// DistinctObjects is true if old and new are not two states of one object, but objects of two clusters. The
	// writer of removals and moves is then unknown.
	DistinctObjects bool
}

// Diff returns the changes from old to new, two states of one object as valid JSON. Numbers in the result are
// json.Number, as they are written in the objects. Diff does not decode values that are equal in both states, so a small
// change of a large object, the usual case, is fast.
//
// List items are compared by the keys that field managers use (KEP-555). These are read from metadata.managedFields, so
// callers should not strip them. Without managed keys, the key is the first of name, type, key, host, ip, path, port and
// uid that all items have with distinct values. Sets of scalars are compared by value. Items of other lists are compared
// along a longest common subsequence.
func Diff(old, new string, o Options) Result {
	w := walk{options: o, masks: o.Masks.rules(old, new), path: make(Path, 0, 16)}
	before, after := managedFieldsOf(old), managedFieldsOf(new)
	w.fields = fields{old: before.Raw, new: after.Raw, distinctObjects: o.DistinctObjects}
	if before.Raw != after.Raw && !w.reports(managedFields) { // replace them by different numbers, which are not reported either
		old, new = replace(old, before, "0"), replace(new, after, "1")
	}
	was, is := sparse(old, new)
	w.maps(w.masks.hideManaged(was), w.masks.hideManaged(is))
	slices.SortFunc(w.changes, func(a, b Change) int {
		return cmp.Or(a.Path.compare(b.Path), cmp.Compare(b.Kind, a.Kind)) // Moved before Changed
	})
	return Result{w.changes, w.noise}
}

// managedFields is the path of an object's managed fields.
var managedFields = Path{{Field: "metadata"}, {Field: "managedFields"}}

// reports returns true if changes at the path, or some changes below it, are reported.
func (w *walk) reports(path Path) bool {
	w.path = append(w.path[:0], path...)
	decision, _ := w.decide()
	w.path = w.path[:0]
	return decision == report || decision == split
}
