package churn

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// maxAllManagers is of how many it is known how often each changed something, and maxManagers how often
	// each changed a field, or wrote an object.
	maxAllManagers = 1000
	maxManagers    = 8
)

// Manager is who changed a field. It has no name where that is not known.
type ManagerCount struct {
	Name  string
	Count int
}

// counts are those of managers, the first that came first.
type counts []ManagerCount

func (c *counts) add(name string) {
	i := slices.IndexFunc(*c, func(m ManagerCount) bool { return m.Name == name })
	switch {
	case i >= 0:
		(*c)[i].Count++
	case len(*c) < maxManagers:
		*c = append(*c, ManagerCount{name, 1})
	}
}

// writes are those of a manager.
type writes struct {
	rate
	idles      recent // of the window: those that changed nothing
	lastMinute recent // of these
}

func (w *writes) addIdle(at time.Time) {
	w.idles.add(at, window)
	w.lastMinute.add(at, time.Minute)
}

// Idle is how often the manager wrote something in the ten minutes before now while nothing of it changed.
func (w *writes) NoOpWrites(now time.Time) int { return w.idles.count(now, window) }

// lately is how often it wrote in the minute before now.
func (w *writes) lately(now time.Time) int {
	return w.LastMinute(now) + w.lastMinute.count(now, time.Minute)
}

// ManagerOf is how often a manager changed any of the objects. It has no name where that is not known.
type ManagerActivity struct {
	Name string
	*writes
	// Objects is how many of those that are known it wrote, and Most which field it changed most often, of which
	// object: nil where that is not known.
	Objects  int
	TopField ObjectField
	often    int
	// Findings are those that it has a part in.
	Findings []ObjectFinding
}

// FindingOf is what is found out about an object.
type ObjectFinding struct {
	*Object
	*Finding
}

// FieldOf is a field of an object. Field is nil of an object of which no field changed.
type ObjectField struct {
	*Object
	Field *Field
}

// TopFields returns the fields, those first that change most, each with its object; of the objects that have
// none those that are written all the same.
func (t *Tally) TopFields(now time.Time) (fields []ObjectField) {
	writes := map[ObjectField]int{}
	for _, o := range t.TopObjects(now) {
		idle := ObjectField{Object: o}
		if n := o.idleSince(now.Add(-time.Minute)); n > 0 || o.loops(now) {
			fields, writes[idle] = append(fields, idle), n
		}
		for _, f := range o.Fields() {
			one := ObjectField{o, f}
			fields, writes[one] = append(fields, one), f.LastMinute(now)
		}
	}
	slices.SortStableFunc(fields, func(a, b ObjectField) int { return cmp.Or(writes[b]-writes[a], b.times()-a.times()) })
	return fields
}

// IsFound reports whether there is a fight over the field, or without one a hot loop.
func (f ObjectField) HasFindings(now time.Time) bool {
	if f.Field == nil {
		return f.loops(now)
	}
	return f.Field.HasFight(now)
}

// IsFound reports whether the manager has a part in something that goes on.
func (m *ManagerActivity) HasFindings(time.Time) bool { return len(m.Findings) > 0 }

func (f ObjectField) times() int {
	if f.Field == nil {
		return 0
	}
	return f.Field.Count
}

// TopManagers returns the managers, those first that change most.
func (t *Tally) TopManagers(now time.Time) []*ManagerActivity {
	all := map[string]*ManagerActivity{}
	for name, w := range t.managers {
		all[name] = &ManagerActivity{Name: name, writes: w}
	}
	for _, o := range t.TopObjects(now) {
		for _, by := range o.by {
			if m := all[by.Name]; m != nil {
				m.wrote(o)
			}
		}
		for _, f := range o.Fields() {
			for _, by := range f.Managers {
				if m := all[by.Name]; m != nil && by.Count > m.often {
					m.TopField, m.often = ObjectField{o, f}, by.Count
				}
			}
		}
		for _, f := range o.Findings(now) {
			for _, name := range f.managers() {
				if m := all[name]; m != nil {
					m.Findings = append(m.Findings, ObjectFinding{o, f})
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *ManagerActivity) int {
		return cmp.Or(b.lately(now)-a.lately(now), b.Count-a.Count, cmp.Compare(a.Name, b.Name))
	})
}

// wrote counts an object. Where no field is known that the manager changed, the object is the first that it wrote.
func (m *ManagerActivity) wrote(o *Object) {
	m.Objects++
	if m.TopField.Object == nil && m.Name != "" {
		m.TopField.Object = o
	}
}

// managers are those that have a part in it.
func (f *Finding) managers() (names []string) {
	for _, s := range f.Sides {
		names = append(names, s.Manager)
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// manager is the count of one.
func (t *Tally) manager(name string, at time.Time) *writes {
	w := t.managers[name]
	if w == nil {
		t.makeRoomForManager(at)
		w = &writes{}
		t.managers[name] = w
	}
	return w
}

// makeRoomForManager forgets the one that changed least if there are too many.
func (t *Tally) makeRoomForManager(now time.Time) {
	if len(t.managers) < maxAllManagers {
		return
	}
	delete(t.managers, slices.MinFunc(slices.Collect(maps.Keys(t.managers)), func(a, b string) int {
		x, y := t.managers[a], t.managers[b]
		return cmp.Or(x.lately(now)-y.lately(now), x.Count-y.Count)
	}))
}
