package change

import (
	"slices"
	"time"
)

// Writer is who made a change, according to metadata.managedFields (KEP-555). A manager is a program, not a person: all
// users of kubectl have the same name, and so have all controllers of kube-controller-manager. The zero Writer is
// unknown.
//
// Managed fields do not show who deleted an object, and rarely who set fields that the API server maintains. If several
// writes happened between the two states, the writer of a removal is one of the writers.
type Writer struct {
	// Manager is the name that the program chose, or the one derived from its user agent.
	Manager string `json:"manager,omitempty"`
	// Operation is Apply or Update.
	Operation string `json:"operation,omitempty"`
	// Subresource is the subresource of the write, such as status or scale. It is usually empty.
	Subresource string `json:"subresource,omitempty"`
	// Time is when the manager last set fields, in seconds. It is zero if the managed fields contain no time.
	Time time.Time `json:"time,omitzero"`
}

func (w Writer) IsKnown() bool { return w.Manager != "" }

// ancientManager is the manager to which the server moves the oldest entries if there are too many. It is never the
// writer of a recent change.
const ancientManager = "ancient-changes"

// writerOf returns the writer of a change at the path, assuming that one write lies between the two states.
//
// A value that was added or changed belongs to the manager that owns the deepest part of its path. If several managers
// own that part, the writer is the one whose entry changed.
//
// Managed fields do not record who removed a value or moved an item. The writer is then the manager whose entry has a new
// time. If there is none (two writes in the same second), it is the manager whose entry has new fields, because a write
// adds no fields to the entries of others.
//
// The writer is unknown if these rules do not select exactly one manager, or if they select a bystander or
// ancientManager. The writer of a removal or a move is also unknown if the states are of two objects.
func (f *fields) writerOf(path Path, kind Kind) Writer {
	f.parse()
	var found []*entry
	if gone := kind == Removed || kind == Moved; gone && f.distinctObjects {
		return Writer{}
	} else if gone {
		found = f.removers(path)
	} else if found = f.owners(path); len(found) > 1 {
		found = filter(found, (*entry).hasChanged)
	}
	if len(found) != 1 || found[0].manager == ancientManager || f.isBystander(found[0], path) {
		return Writer{}
	}
	e := found[0]
	who := Writer{Manager: e.manager, Operation: e.operation, Subresource: e.subresource}
	if at, err := time.Parse(time.RFC3339, e.time); err == nil {
		who.Time = at.UTC()
	}
	return who
}

// removers returns the entries of the managers that may have removed the value at the path. It skips writes to the
// subresource status unless the path is in the status: only a kubelet removes something else that way (annotations of its
// node).
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

// isBystander reports whether a manager that owns only a parent of the path did not write while another manager did. An
// example is the node port of a Service, which the server sets in a port that a manager owns.
func (f *fields) isBystander(e *entry, path Path) bool {
	return e.owned(path) < len(path) && !e.hasChanged() &&
		slices.ContainsFunc(f.after, func(other *entry) bool { return other.isLater() || other.isLarger() })
}

// FindWriter returns the writer of the one write between two states of an object. It is unknown unless exactly one entry
// of the managed fields was added, changed or removed. The writer has no Time.
func FindWriter(old, new string) Writer {
	f := fields{old: managedFieldsOf(old).Raw, new: managedFieldsOf(new).Raw}
	f.parse()
	wrote := filter(f.after, (*entry).hasChanged)
	for _, e := range f.before { // the server removes the entry of a manager that owns nothing anymore
		if !slices.ContainsFunc(f.after, e.same) {
			wrote = append(wrote, e)
		}
	}
	if len(wrote) != 1 || wrote[0].manager == ancientManager {
		return Writer{}
	}
	return Writer{Manager: wrote[0].manager, Operation: wrote[0].operation, Subresource: wrote[0].subresource}
}

func filter(entries []*entry, keep func(*entry) bool) []*entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return !keep(e) })
}

func (e *entry) isLater() bool    { return e.hasNewTime && e.manager != ancientManager }
func (e *entry) isLarger() bool   { return e.hasGrown && e.manager != ancientManager }
func (e *entry) hasChanged() bool { return e.isNew || e.hasNewTime || e.hasGrown || e.hasShrunk }

// owners returns the entries of the new object that own the deepest part of the path.
func (f *fields) owners(path Path) (found []*entry) {
	deepest := 1 // no manager owns the object itself, at depth 0
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

// owned returns the number of steps to the deepest part of the path that the entry owns. An entry that owns a value below
// the path owns the whole path.
func (e *entry) owned(path Path) (depth int) {
	set := e.set
	for i, step := range path {
		if set = set.descend(step); set == nil {
			return depth
		}
		if i+1 == len(path) || set.ownsItself() {
			depth = i + 1
		}
	}
	return depth
}
