package churn

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// maxAllManagers is the maximum number of managers in a Tally. A field or an object counts only its first maxManagers.
	maxAllManagers = 1000
	maxManagers    = 8
)

// ManagerCount is the number of writes by a manager. If the manager is unknown, the name is empty.
type ManagerCount struct {
	Name  string
	Count int
}

// counts contains the managers in order of their first write.
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

// writes counts the writes of a manager.
type writes struct {
	rate
	idles      recent // writes within window that changed nothing
	lastMinute recent // writes within the last minute that changed nothing
}

func (w *writes) addIdle(at time.Time) {
	w.idles.add(at, window)
	w.lastMinute.add(at, time.Minute)
}

// NoOpWrites returns the number of writes in the ten minutes before now that changed nothing, to the precision of recent.
func (w *writes) NoOpWrites(now time.Time) int { return w.idles.count(now, window) }

// writesLastMinute returns the number of writes in the minute before now, including those that changed nothing.
func (w *writes) writesLastMinute(now time.Time) int {
	return w.LastMinute(now) + w.lastMinute.count(now, time.Minute)
}

// ManagerActivity describes the writes of a manager to all objects. If the manager is unknown, the name is empty.
type ManagerActivity struct {
	Name string
	*writes
	// Objects is the number of objects that it wrote and that count it, and TopField the field that it changed most often. If
	// no field counts it, TopField.Field is nil, and TopField.Object is the most active object that it wrote. That is nil if
	// Objects is 0 or Name is empty.
	Objects  int
	TopField ObjectField
	topCount int // changes of TopField
	// Findings are the ongoing findings in which it takes part.
	Findings []ObjectFinding
}

// ObjectFinding is a finding with its object.
type ObjectFinding struct {
	*Object
	*Finding
}

// ObjectField is a field of an object. If Field is nil, it stands for the writes that changed nothing.
type ObjectField struct {
	*Object
	Field *Field
}

// TopFields returns the fields of all objects in descending order of their changes in the last minute. It includes an
// entry without Field for each object that was written without a change in the last minute or is in a hot loop.
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

// HasFindings reports whether there is an ongoing fight over the field, or a hot loop if Field is nil.
func (f ObjectField) HasFindings(now time.Time) bool {
	if f.Field == nil {
		return f.loops(now)
	}
	return f.Field.HasFight(now)
}

// HasFindings reports whether the manager takes part in an ongoing finding.
func (m *ManagerActivity) HasFindings(time.Time) bool { return len(m.Findings) > 0 }

func (f ObjectField) times() int {
	if f.Field == nil {
		return 0
	}
	return f.Field.Count
}

// TopManagers returns the managers in descending order of their writes in the last minute.
func (t *Tally) TopManagers(now time.Time) []*ManagerActivity {
	all := map[string]*ManagerActivity{}
	for name, w := range t.managers {
		all[name] = &ManagerActivity{Name: name, writes: w}
	}
	for _, o := range t.TopObjects(now) {
		for _, by := range o.managers {
			if m := all[by.Name]; m != nil {
				m.wrote(o)
			}
		}
		for _, f := range o.Fields() {
			for _, by := range f.Managers {
				if m := all[by.Name]; m != nil && by.Count > m.topCount {
					m.TopField, m.topCount = ObjectField{o, f}, by.Count
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
		return cmp.Or(b.writesLastMinute(now)-a.writesLastMinute(now), b.Count-a.Count, cmp.Compare(a.Name, b.Name))
	})
}

// wrote counts an object that the manager wrote. The first object stays in TopField unless a field is found.
func (m *ManagerActivity) wrote(o *Object) {
	m.Objects++
	if m.TopField.Object == nil && m.Name != "" {
		m.TopField.Object = o
	}
}

// managers returns the managers that take part in a finding. An unknown manager has an empty name.
func (f *Finding) managers() (names []string) {
	for _, s := range f.Sides {
		names = append(names, s.Manager)
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// manager returns the writes of a manager, and adds it if needed.
func (t *Tally) manager(name string, at time.Time) *writes {
	w := t.managers[name]
	if w == nil {
		t.makeRoomForManager(at)
		w = &writes{}
		t.managers[name] = w
	}
	return w
}

// makeRoomForManager evicts the manager with the fewest recent writes if there are already maxAllManagers.
func (t *Tally) makeRoomForManager(now time.Time) {
	if len(t.managers) < maxAllManagers {
		return
	}
	delete(t.managers, slices.MinFunc(slices.Collect(maps.Keys(t.managers)), func(a, b string) int {
		x, y := t.managers[a], t.managers[b]
		return cmp.Or(x.writesLastMinute(now)-y.writesLastMinute(now), x.Count-y.Count)
	}))
}
