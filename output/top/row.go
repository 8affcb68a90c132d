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

// RankBy selects what the rows are about.
type RankBy string

// The values of RankBy.
const (
	ByObject  RankBy = "object"
	ByField   RankBy = "field"
	ByManager RankBy = "manager"
)

// row is a row of the table, and its JSON. docs/reference/top.md describes the members.
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
	HotLoops   []finding       `json:"hotLoops,omitempty"` // only in the row of a manager

	name string // of the object
}

// finding is a fight or hot loop. In the row of a manager it has its own object.
type finding struct {
	Object *object `json:"object,omitempty"`
	*churn.Finding
	name string // of Object
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

// rows returns the rows to print.
func (t *Top) rows(now time.Time) []row {
	switch t.RankBy {
	case ByField:
		return rowsOf(t, t.tally.TopFields(now), now, func(f churn.ObjectField) row { return t.fieldRow(f, now) })
	case ByManager:
		return rowsOf(t, t.tally.TopManagers(now), now, func(m *churn.ManagerActivity) row { return t.managerRow(m, now) })
	}
	return rowsOf(t, t.tally.TopObjects(now), now, func(o *churn.Object) row { return t.objectRow(o, now) })
}

// rowsOf returns the rows of the first MaxRows elements, and of all others with findings. An object in a fight may change less
// often than busy ones.
func rowsOf[T interface{ HasFindings(time.Time) bool }](t *Top, all []T, now time.Time, rowOf func(T) row) (rows []row) {
	for i, one := range all {
		if t.MaxRows == 0 || i < t.MaxRows || one.HasFindings(now) {
			rows = append(rows, rowOf(one))
		}
	}
	return rows
}

func (t *Top) objectRow(o *churn.Object, now time.Time) row {
	r := row{Time: event.Timestamp{Time: now}, PerMinute: float64(o.LastMinute(now)), Changes: o.Count, Idle: o.NoOpWrites(now), MoreFields: o.MoreFields}
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
	r := row{Time: event.Timestamp{Time: now}, PerMinute: float64(f.Field.LastMinute(now)), Changes: f.Field.Count, Path: f.Field.Path, Managers: managersOf(f.Field)}
	r.Object, r.name = t.nameOf(f.Object)
	for _, found := range f.Findings(now) {
		if found.Path == f.Field.Path {
			r.Fights = append(r.Fights, finding{Finding: found})
		}
	}
	return r
}

func (t *Top) managerRow(m *churn.ManagerActivity, now time.Time) row {
	r := row{Time: event.Timestamp{Time: now}, PerMinute: float64(m.LastMinute(now)), Changes: m.Count, Idle: m.NoOpWrites(now), Manager: &m.Name, Objects: m.Objects}
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

func managersOf(f *churn.Field) map[string]int {
	managers := map[string]int{}
	for _, m := range f.Managers {
		if m.Name != "" {
			managers[m.Name] = m.Count
		}
	}
	return managers
}

// findingPrefix begins the lines with findings.
const findingPrefix = "  ! "

// String describes the finding, with the object if the row is about something else.
func (f finding) String() string {
	if f.Object == nil {
		return f.Finding.String()
	}
	return f.name + ": " + f.Finding.String()
}

// lines returns the table: the header, and each row followed by its findings.
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
			lines = append(lines, findingPrefix+t.painted(f.Object, output.EscapeLine(f.String())))
		}
	}
	return lines
}

// colorOf returns the colour for the name of the object's cluster, with which a cell begins.
func (t *Top) colorOf(o *object, cell int) output.CellColor {
	if !t.Color || o == nil || o.Cluster == "" {
		return output.CellColor{}
	}
	return output.CellColor{Cell: cell, Text: o.Cluster, SGR: t.palette.SGR(o.Cluster)}
}

// painted colours the name of the object's cluster at the start of a text. It returns the text unchanged if o is nil.
func (t *Top) painted(o *object, text string) string {
	if !t.Color || o == nil || o.Cluster == "" {
		return text
	}
	name := output.EscapeLine(o.Cluster)
	return t.palette.Paint(o.Cluster, name) + strings.TrimPrefix(text, name)
}

// findings returns the findings with a line each. Fights of the same managers over several fields of an object are merged.
func (r *row) findings() (all []finding) {
	objectOf := func(f finding) (o object) { // zero if the row is about the object
		if f.Object != nil {
			o = *f.Object
		}
		return o
	}
	fights := map[object][]*churn.Finding{}
	for _, f := range r.Fights {
		fights[objectOf(f)] = append(fights[objectOf(f)], f.Finding)
	}
	for _, f := range r.Fights {
		for _, one := range churn.MergeFights(fights[objectOf(f)]) {
			all = append(all, finding{f.Object, one, f.name})
		}
		delete(fights, objectOf(f))
	}
	all = append(all, r.HotLoops...)
	if r.HotLoop != nil {
		all = append(all, *r.HotLoop)
	}
	return all
}

// objectHeader and mostlyHeader are the headers of columns with names of objects.
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

// most returns the field that changed most often, and its managers.
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

// inOrder returns the names of managers, the one with the most changes first.
func inOrder(managers map[string]int) string {
	return strings.Join(slices.SortedFunc(maps.Keys(managers), func(a, b string) int {
		return cmp.Or(managers[b]-managers[a], cmp.Compare(a, b))
	}), ", ")
}
