package output

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"dwatch/watcher/event"
)

// unknown is the text of a cell without a known value, as in kubectl.
const unknown = "<unknown>"

// Column is a column definition of a Table from the server.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Format string `json:"format"`
	// Priority is greater than 0 for columns that only -o wide shows.
	Priority int32 `json:"priority"`
}

// IsName reports whether the column contains the name of the object.
func (c *Column) IsName() bool { return c.Format == "name" && c.Type == "string" }

// defaultColumns are kubectl's columns for an object without a table row.
const defaultColumns = `[{"name":"Name","type":"string","format":"name"},{"name":"Age","type":"string"}]`

// ParseColumns parses column definitions from JSON. If text is empty, the columns are name and age.
func ParseColumns(text string) (all []Column) {
	for _, c := range gjson.Parse(cmp.Or(text, defaultColumns)).Array() {
		all = append(all, Column{c.Get("name").String(), c.Get("type").String(), c.Get("format").String(), int32(c.Get("priority").Int())})
	}
	return all
}

// columnSet has the columns of a resource, and their JSON.
type columnSet struct {
	columns []Column
	text    string
}

// cells sets c to the columns of an object's row, and returns a cell for each. It keeps the columns for an object that has
// only an identity.
func (c *columnSet) cells(o event.Object) []string {
	if row := o.Row(); row != "" {
		if text := gjson.Get(row, "columnDefinitions").Raw; text != c.text { // rarely
			c.text = strings.Clone(text)
			c.columns = ParseColumns(c.text)
		}
		return rowCells(gjson.Get(row, "cells"), len(c.columns))
	}
	created := gjson.Get(o.Raw(), "metadata.creationTimestamp")
	if len(c.columns) == 0 || created.Exists() {
		*c = columnSet{columns: ParseColumns("")}
		return []string{o.Name, FormatAge(time.Now(), created.Time())}
	}
	cells := make([]string, len(c.columns))
	for i := range c.columns {
		if cells[i] = unknown; c.columns[i].IsName() {
			cells[i] = o.Name
		}
	}
	return cells
}

// rowCells returns n values of a row, which may have more (kubernetes/kubernetes#66379) or fewer.
func rowCells(values gjson.Result, n int) []string {
	cells, i := make([]string, n), 0
	values.ForEach(func(_, value gjson.Result) bool {
		if i < n {
			cells[i] = cellText(value)
		}
		i++
		return i < n
	})
	return cells
}

// ParseCells returns the first n cells of a table row, a JSON array, as kubectl prints them. They are escaped. Missing cells are
// empty.
func ParseCells(row string, n int) []string {
	cells := rowCells(gjson.Parse(row), n)
	for i, cell := range cells {
		cells[i] = strings.Clone(EscapeLine(cell)) // a substring would keep the whole row in memory
	}
	return cells
}

// cellText returns the value of a cell as kubectl prints it.
func cellText(value gjson.Result) string {
	switch value.Type {
	case gjson.String:
		if i := strings.IndexAny(value.Str, "\f\n\r"); i >= 0 {
			return printers.EscapeTerminal(value.Str[:i]) + "..."
		}
		return printers.EscapeTerminal(value.Str)
	case gjson.Number:
		if whole, err := strconv.ParseInt(value.Raw, 10, 64); err == nil {
			return strconv.FormatInt(whole, 10)
		}
		return fmt.Sprint(value.Num)
	case gjson.Null:
		return ""
	case gjson.True, gjson.False:
		return value.Raw
	default:
		var decoded any
		if utiljson.Unmarshal([]byte(value.Raw), &decoded) != nil { // a number that Go can't represent
			decoded = value.Raw
		}
		return printers.EscapeTerminal(fmt.Sprint(decoded))
	}
}

// FormatAge returns the time from then to now as kubectl writes ages. It returns "<unknown>" if then is zero.
func FormatAge(now, then time.Time) string {
	if then.IsZero() {
		return unknown
	}
	return duration.HumanDuration(max(now.Sub(then), 0))
}

// labelCells returns a cell for each of the named labels and, if all is set, a cell with all labels.
func labelCells(o event.Object, names []string, all bool) []string {
	set := labels.Set{}
	gjson.Get(o.Raw(), "metadata.labels").ForEach(func(name, value gjson.Result) bool {
		set[name.Str] = value.Str
		return true
	})
	var cells []string
	for _, name := range names {
		cells = append(cells, set[name])
	}
	if all {
		cells = append(cells, labels.FormatLabels(set))
	}
	return cells
}

// LabelHeader returns the header of the column for a label.
func LabelHeader(name string) string { return strings.ToUpper(name[strings.LastIndex(name, "/")+1:]) }
