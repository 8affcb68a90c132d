package change

import (
	"slices"
	"time"
)

// Who made a change, as metadata.managedFields says (KEP-555). A manager is a
// program, not a person: kubectl by whomever, and one name for all controllers of
// kube-controller-manager. The zero Who means that it is not known.
//
// It is not known who deleted an object, nor mostly who set what the server keeps itself. Of
// several writes between the two states, what was removed is said of one of the writers.
type Writer struct {
	// Manager is the name of the program, or what it called itself.
	Manager string `json:"manager,omitempty"`
	// Operation is Apply or Update.
	Operation string `json:"operation,omitempty"`
	// Subresource through which it wrote, such as status or scale; mostly empty.
	Subresource string `json:"subresource,omitempty"`
	// Time at which the manager last set fields, in seconds; zero if it is not said.
	Time time.Time `json:"time,omitzero"`
}

func (w Writer) IsKnown() bool { return w.Manager != "" }

// oldest is the manager to which the server adds the oldest entries when there are
// too many: nobody who wrote just now.
const oldest = "ancient-changes"

// who returns who made the change at the path, for the two states before and after one
// write. What has a value belongs to the manager who set it: the owner of the deepest
// part of the path that anybody owns; of several the one whose entry is not what it
// was; none if that is only around it, and somebody else wrote. What was removed, and
// the order of items, belong to nobody: the writer is whose entry has a new time, or in
// the same second whose has new fields, as a write adds none to those of others. If
// that is not exactly one, it is not known, as it is not of two objects. Through status nobody
// removes what is not in it, but for a kubelet an annotation of its node.
func (f *fields) who(path Path, kind Kind) Writer {
	f.parse()
	var found []*entry
	if gone := kind == Removed || kind == Moved; gone && f.apart {
		return Writer{}
	} else if gone {
		found = f.removers(path)
	} else if found = f.owners(path); len(found) > 1 {
		found = filter(found, (*entry).hasChanged)
	}
	if len(found) != 1 || found[0].manager == oldest || f.bystands(found[0], path) {
		return Writer{}
	}
	e := found[0]
	who := Writer{Manager: e.manager, Operation: e.operation, Subresource: e.subresource}
	if at, err := time.Parse(time.RFC3339, e.time); err == nil {
		who.Time = at.UTC()
	}
	return who
}

// removers returns the entries of those of whom one has removed what stood at the path.
func (f *fields) removers(path Path) []*entry {
	could := f.after
	if len(path) > 0 && path[0].Field != "status" {
		could = filter(could, func(e *entry) bool { return e.subresource != "status" })
	}
	if found := filter(could, (*entry).isLater); len(found) > 0 {
		return found
	}
	return filter(could, (*entry).isLarger)
}

// bystands reports whether the owner of what is around the path has not written, as
// somebody else has: so the server sets the port of a node in a port of a Service.
func (f *fields) bystands(e *entry, path Path) bool {
	return e.owned(path) < len(path) && !e.hasChanged() &&
		slices.ContainsFunc(f.after, func(other *entry) bool { return other.isLater() || other.isLarger() })
}

// Writer returns who made the one write between two states of an object, as far as it shows: whose
// entry in the managed fields is another one.
func FindWriter(old, new string) Writer {
	f := fields{old: managedFieldsOf(old).Raw, new: managedFieldsOf(new).Raw}
	f.parse()
	wrote := filter(f.after, (*entry).hasChanged)
	for _, e := range f.before { // one that let all go is not in there any more
		if !slices.ContainsFunc(f.after, e.same) {
			wrote = append(wrote, e)
		}
	}
	if len(wrote) != 1 || wrote[0].manager == oldest {
		return Writer{}
	}
	return Writer{Manager: wrote[0].manager, Operation: wrote[0].operation, Subresource: wrote[0].subresource}
}

func filter(entries []*entry, keep func(*entry) bool) []*entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return !keep(e) })
}

func (e *entry) isLater() bool    { return e.hasNewTime && e.manager != oldest }
func (e *entry) isLarger() bool   { return e.hasGrown && e.manager != oldest }
func (e *entry) hasChanged() bool { return e.isNew || e.hasNewTime || e.hasGrown || e.hasShrunk }

// owners returns the entries of the new object that own the deepest part of the path.
func (f *fields) owners(path Path) (found []*entry) {
	deepest := 1 // at 0 is the object itself, which nobody owns
	for _, e := range f.after {
		depth := e.owned(path)
		if depth > deepest {
			deepest, found = depth, nil
		}
		if depth == deepest {
			found = append(found, e)
		}
	}
	return found
}

// owned returns how many steps of the path lead to the deepest part of it that the
// entry owns. A field set has for each part a set: {} or one with "." if the part
// itself is owned. Who owns something below the whole path counts as its owner.
func (e *entry) owned(path Path) (depth int) {
	set := e.set
	for i, step := range path {
		if set = set.child(step); set == nil {
			return depth
		}
		if i+1 == len(path) || set.ownsItself() {
			depth = i + 1
		}
	}
	return depth
}
