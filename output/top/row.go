package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/churn"
)

// By is what is ranked.
type RankBy string

// The things that may be ranked.
const (
	ByObject  RankBy = "object"
	ByField   RankBy = "field"
	ByManager RankBy = "manager"
)

// row is one of what is ranked, as JSON: what its members mean is in docs/top.md.
type row struct {
	Time       event.Timestamp `json:"time"`
	PerMinute  float64         `json:"perMinute"`
	Changes    int             `json:"changes"`
	Idle       int             `json:"idle,omitempty"`
	Manager    *string         `json:"manager,omitempty"`
	Objects    int             `json:"objects,omitempty"`
	Object     *object         `json:"object,omitempty"`
	Path       string          `json:"path,omitempty"`
	Fields     []field         `json:"fields,omitempty"`
	MoreFields int             `json:"moreFields,omitempty"`
	Managers   map[string]int  `json:"managers,omitempty"`
	Fights     []finding       `json:"fights,omitempty"`
	HotLoop    *finding        `json:"hotLoop,omitempty"`
	HotLoops   []finding       `json:"hotLoops,omitempty"` // of a manager

	name string // of the object
}

// finding is what is found out about the object of the row, or for a manager about one of its own.
type finding struct {
	Object *object `json:"object,omitempty"`
	*churn.Finding
	name string // of the object, if it has one
}

type object struct {
	Cluster    string `json:"cluster,omitempty"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

type field struct {
	Path     string         `json:"path"`
	Changes  int            `json:"changes"`
	Managers map[string]int `json:"managers,omitempty"`
}

// rows are those that are printed.
func (t *Top) rows(now time.Time) []row {
	switch t.RankBy {
	case ByField:
		return rowsOf(t, t.tally.TopFields(now), now, func(f churn.ObjectField) row { return t.fieldRow(f, now) })
	case ByManager:
		return rowsOf(t, t.tally.TopManagers(now), now, func(m *churn.ManagerActivity) row { return t.managerRow(m, now) })
	}
	return rowsOf(t, t.tally.TopObjects(now), now, func(o *churn.Object) row { return t.objectRow(o, now) })
}

// rowsOf are those of the first, and of others those about which something is found out: these are what is looked
// for, and may change less than what is only busy.
func rowsOf[T interface{ HasFindings(time.Time) bool }](t *Top, all []T, now time.Time, rowOf func(T) row) (rows []row) {
	for i, one := range all {
		if t.MaxRows == 0 || i < t.MaxRows || one.HasFindings(now) {
			rows = append(rows, rowOf(one))
		}
	}
	return rows
}

func (t *Top) objectRow(o *churn.Object, now time.Time) row {
	r := row{Time: event.Timestamp{Time: now}, PerMinute: t.perMinute(o.LastMinute(now), now), Changes: o.Count, Idle: o.NoOpWrites(now), MoreFields: o.MoreFields}
	r.Object, r.name = t.nameOf(o)
	for _, f := range o.Fields() {
		r.Fields = append(r.Fields, field{f.Path, f.Count, managersOf(f)})
	}
	for _, f := range o.Findings(now) {
		if f.IsFight() {
			r.Fights = append(r.Fights, finding{Finding: f})
		} else {
			r.HotLoop = &finding{Finding: f}
		}
	}
	return r
}

func (t *Top) fieldRow(f churn.ObjectField, now time.Time) row {
	if f.Field == nil {
		r := t.objectRow(f.Object, now)
		return row{Time: event.Timestamp{Time: now}, Idle: r.Idle, Object: r.Object, HotLoop: r.HotLoop, name: r.name}
	}
	r := row{Time: event.Timestamp{Time: now}, PerMinute: t.perMinute(f.Field.LastMinute(now), now), Changes: f.Field.Count, Path: f.Field.Path, Managers: managersOf(f.Field)}
	r.Object, r.name = t.nameOf(f.Object)
	for _, found := range f.Findings(now) {
		if found.Path == f.Field.Path {
			r.Fights = append(r.Fights, finding{Finding: found})
		}
	}
	return r
}

func (t *Top) managerRow(m *churn.ManagerActivity, now time.Time) row {
	r := row{Time: event.Timestamp{Time: now}, PerMinute: t.perMinute(m.LastMinute(now), now), Changes: m.Count, Idle: m.NoOpWrites(now), Manager: &m.Name, Objects: m.Objects}
	if m.TopField.Object != nil {
		r.Object, r.name = t.nameOf(m.TopField.Object)
	}
	if m.TopField.Field != nil {
		r.Path = m.TopField.Field.Path
	}
	for _, f := range m.Findings {
		one := finding{Finding: f.Finding}
		if one.Object, one.name = t.nameOf(f.Object); f.IsFight() {
			r.Fights = append(r.Fights, one)
		} else {
			r.HotLoops = append(r.HotLoops, one)
		}
	}
	return r
}

func (t *Top) nameOf(o *churn.Object) (*object, string) {
	return &object{o.Key.Cluster, o.APIVersion, o.Kind, o.Key.Namespace, o.Key.Name},
		strings.TrimSpace(o.Key.Cluster + " " + t.ShortName(o.Target.Resource()) + "/" + o.Key.Name)
}

// perMinute makes a rate of what was in the last minute. A run that is younger knows only of a part of one.
func (t *Top) perMinute(lastMinute int, now time.Time) float64 {
	since := max(min(now.Sub(t.began), time.Minute), time.Second)
	return float64(int(float64(lastMinute)*float64(time.Minute)/float64(since)*10+0.5)) / 10
}

func managersOf(f *churn.Field) map[string]int {
	managers := map[string]int{}
	for _, m := range f.Managers {
		if m.Name != "" {
			managers[m.Name] = m.Count
		}
	}
	return managers
}

// found is how the lines begin that say what is found out.
const found = "  ! "

// String is what is found out, of whom if the row is not about that.
func (f finding) String() string {
	if f.Object == nil {
		return f.Finding.String()
	}
	return f.name + ": " + f.Finding.String()
}

// lines are the table: its rows, and below each what is found out about that.
func (t *Top) lines(rows []row) (lines []string) {
	header := t.header()
	cells, colored := [][]string{header}, []output.CellColor{{}}
	at := slices.IndexFunc(header, func(h string) bool { return h == objectHeader || h == mostlyHeader })
	for i := range rows {
		cells = append(cells, t.cells(&rows[i]))
		colored = append(colored, t.colorOf(rows[i].Object, at))
	}
	for i, line := range output.AlignColumns(cells, colored) {
		lines = append(lines, line)
		if i == 0 {
			continue
		}
		for _, f := range rows[i-1].findings() {
			lines = append(lines, found+t.painted(f.Object, output.EscapeLine(f.String())))
		}
	}
	return lines
}

// colorOf is that of the cluster of an object, of several, whose name a cell begins with.
func (t *Top) colorOf(o *object, cell int) output.CellColor {
	if !t.Color || o == nil || o.Cluster == "" {
		return output.CellColor{}
	}
	return output.CellColor{Cell: cell, Text: o.Cluster, SGR: t.palette.SGR(o.Cluster)}
}

// painted is a text that begins with the name of an object's cluster, of several; of no object it does not.
func (t *Top) painted(o *object, text string) string {
	if !t.Color || o == nil || o.Cluster == "" {
		return text
	}
	name := output.EscapeLine(o.Cluster)
	return t.palette.Paint(o.Cluster, name) + strings.TrimPrefix(text, name)
}

// findings are those of a line each: that of managers over several fields of an object is one.
func (r *row) findings() (all []finding) {
	of := map[string][]*churn.Finding{}
	for _, f := range r.Fights {
		of[f.name] = append(of[f.name], f.Finding)
	}
	for _, f := range r.Fights {
		for _, one := range churn.MergeFights(of[f.name]) {
			all = append(all, finding{f.Object, one, f.name})
		}
		delete(of, f.name)
	}
	all = append(all, r.HotLoops...)
	if r.HotLoop != nil {
		all = append(all, *r.HotLoop)
	}
	return all
}

// objectHeader and mostlyHeader are those of the columns with names of objects.
const objectHeader, mostlyHeader = "OBJECT", "MOSTLY"

func (t *Top) header() []string {
	header := []string{"PER MIN", "CHANGES", objectHeader, "FIELD", "MANAGER"}
	if t.RankBy == ByManager {
		header = []string{"PER MIN", "CHANGES", "MANAGER", "OBJECTS", mostlyHeader, "FIELD"}
	}
	return t.inNamespace("NAMESPACE", header)
}

func (t *Top) cells(r *row) []string {
	cells := []string{fmt.Sprintf("%.1f", r.PerMinute), fmt.Sprint(r.Changes)}
	switch t.RankBy {
	case ByManager:
		cells = append(cells, cmp.Or(*r.Manager, "<unknown>"), fmt.Sprint(r.Objects), r.name, r.Path)
	case ByField:
		cells = append(cells, r.name, r.Path, inOrder(r.Managers))
	default:
		path, managers := r.most()
		cells = append(cells, r.name, path, managers)
	}
	namespace := ""
	if r.Object != nil {
		namespace = r.Object.Namespace
	}
	return t.inNamespace(namespace, cells)
}

func (t *Top) inNamespace(namespace string, cells []string) []string {
	if !t.ShowNamespaces {
		return cells
	}
	return append([]string{namespace}, cells...)
}

// most returns the field that changed most, and its managers.
func (r *row) most() (path, managers string) {
	if len(r.Fields) == 0 {
		return "", ""
	}
	f := r.Fields[0]
	path = f.Path
	if more := len(r.Fields) - 1; more > 0 {
		path += fmt.Sprintf(", +%d", more+r.MoreFields)
	}
	if r.MoreFields > 0 {
		path += " or more"
	}
	return path, inOrder(f.Managers)
}

// inOrder are managers, those that did most first.
func inOrder(managers map[string]int) string {
	return strings.Join(slices.SortedFunc(maps.Keys(managers), func(a, b string) int {
		return cmp.Or(managers[b]-managers[a], cmp.Compare(a, b))
	}), ", ")
}
