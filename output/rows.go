package output

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// Column is a column of Rows.
type Column struct {
	// Name is as it stands in a header.
	Name string
	// Wide: it is one of those that the format "wide" has besides.
	Wide bool
	// IsName: it has the name of the object. IsAge: it says how old the object is.
	IsName, IsAge bool
	// Ticks: its cells say how long ago something was, at the time the server made the
	// row, such as 5m or "3 (5m ago)", or nothing of the kind.
	Ticks bool
}

// ticking are the columns of built-in resources that say how long ago something was; by
// their types they have any text.
var ticking = []string{"AGE", "LAST SEEN", "FIRST SEEN", "RESTARTS", "LAST SCHEDULE"}

// Rows makes rows of the objects of one resource, as the format "wide" has them, for
// what draws a table by itself. The zero value is ready; it is not for several
// goroutines at the same time.
type Rows struct {
	// Labels and ShowLabels are as in TableOptions.
	Labels     []string
	ShowLabels bool

	set     columnSet
	text    string // of the columns that Columns was made of
	columns []Column
}

// Cells returns what is shown of an object, safe for a terminal: a cell for each of
// Columns, which may be others than before. The object needs an event.Object.Row.
func (r *Rows) Cells(o event.Object) ([]string, error) {
	cells, err := r.set.cells(o)
	if err != nil {
		return nil, err
	}
	if r.labels() > 0 {
		cells = append(cells, labelCells(o, r.Labels, r.ShowLabels)...)
	}
	for i, cell := range cells {
		cells[i] = strings.Clone(Line(cell)) // not a part of the whole row
	}
	return cells, nil
}

// Columns returns those of the last Cells. They are others only where the slice is
// another one; it is not to be changed.
func (r *Rows) Columns() []Column {
	if r.columns != nil && r.text == r.set.text && len(r.columns) == len(r.set.definitions)+r.labels() {
		return r.columns
	}
	r.text, r.columns = r.set.text, nil
	for _, definition := range r.set.definitions {
		name := strings.ToUpper(Line(definition.Name))
		r.columns = append(r.columns, Column{
			Name: name, Wide: definition.Priority != 0, IsName: isName(definition), IsAge: name == "AGE",
			Ticks: definition.Type == "date" || slices.Contains(ticking, name),
		})
	}
	for _, label := range r.Labels {
		r.columns = append(r.columns, Column{Name: Line(LabelHeader(label))})
	}
	if r.ShowLabels {
		r.columns = append(r.columns, Column{Name: "LABELS"})
	}
	return r.columns
}

// labels is how many columns labels have.
func (r *Rows) labels() int {
	if r.ShowLabels {
		return len(r.Labels) + 1
	}
	return len(r.Labels)
}

// Cells returns n of the cells of a row, a JSON array of a Table of the API, as kubectl
// prints them: safe for a terminal, and empty where there are less.
func Cells(row string, n int) ([]string, error) {
	c := columnSet{definitions: make([]metav1.TableColumnDefinition, n)}
	cells, err := c.rowCells(gjson.Parse(row))
	for i, cell := range cells {
		cells[i] = strings.Clone(Line(cell)) // not a part of the whole row
	}
	return cells, err
}
