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

// unknown is in the cells of which nothing is known, as with kubectl.
const unknown = "<unknown>"

// Column is a column of a table, as the server sent it.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Format string `json:"format"`
	// Priority is above 0 for those that the format "wide" has besides.
	Priority int32 `json:"priority"`
}

// IsName reports whether it has the name of the object.
func (c *Column) IsName() bool { return c.Format == "name" && c.Type == "string" }

// fewColumns are kubectl's for an object of which the server makes no table.
const fewColumns = `[{"name":"Name","type":"string","format":"name"},{"name":"Age","type":"string"}]`

// ParseColumns reads columns from JSON; where there is none they are name and age.
func ParseColumns(text string) (all []Column) {
	for _, c := range gjson.Parse(cmp.Or(text, fewColumns)).Array() {
		all = append(all, Column{c.Get("name").String(), c.Get("type").String(), c.Get("format").String(), int32(c.Get("priority").Int())})
	}
	return all
}

// columnSet are the columns that the server has for a resource, and the JSON of them.
type columnSet struct {
	columns []Column
	text    string
}

// cells returns the cells of an object, one for each of the columns that it sets c to. Of
// an object of which only the identity is known c stays as it is, if it has columns.
func (c *columnSet) cells(o event.Object) []string {
	if row := o.Row(); row != "" {
		if text := gjson.Get(row, "columnDefinitions").Raw; text != c.text { // they are nearly always the same
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

// rowCells returns n values of a row, which may have more (kubernetes/kubernetes#66379), or less.
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

// Cells returns n of the cells of a row, a JSON array of a Table of the API, as kubectl
// prints them: safe for a terminal, and empty where there are less.
func ParseCells(row string, n int) []string {
	cells := rowCells(gjson.Parse(row), n)
	for i, cell := range cells {
		cells[i] = strings.Clone(EscapeLine(cell)) // not a part of the whole row
	}
	return cells
}

// cellText is the value of a cell as kubectl prints it.
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
		if utiljson.Unmarshal([]byte(value.Raw), &decoded) != nil { // a number that nothing can hold
			decoded = value.Raw
		}
		return printers.EscapeTerminal(fmt.Sprint(decoded))
	}
}

// HowLong is how long ago something was, as kubectl says it; that is not known if then is zero.
func FormatAge(now, then time.Time) string {
	if then.IsZero() {
		return unknown
	}
	return duration.HumanDuration(max(now.Sub(then), 0))
}

// labelCells returns the values of some labels, and all of them if all is set.
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

// LabelHeader is the name of a column for a label.
func LabelHeader(name string) string { return strings.ToUpper(name[strings.LastIndex(name, "/")+1:]) }
