package inventory

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
)

// Column is a column of the server, or one for labels: its Name is a label, or empty for all.
type Column struct {
	output.Column
	IsLabel bool `json:"-"`
	// Clock says how the cells go on with time.
	AgeFormat AgeFormat `json:"-"`
	// Counts: an object says from when the cells count.
	HasStartTime bool `json:"counts,omitempty"`
	// begins is where in an object that time is, the first that is there.
	begins []string
}

// Header is the name as it stands in a header.
func (c *Column) Header() string {
	switch {
	case !c.IsLabel:
		return strings.ToUpper(output.EscapeLine(c.Name))
	case c.Name == "":
		return "LABELS"
	}
	return output.EscapeLine(output.LabelHeader(c.Name))
}

// IsAge reports whether it says how old the object is.
func (c *Column) IsAge() bool { return !c.IsLabel && strings.EqualFold(c.Name, "Age") }

// columns are those of a resource, as they came with a row. It never changes.
type columns struct {
	all    []Column
	labels int // how many of them are for labels: the last
}

// maxColumns is of how many definitions the columns are kept.
const maxColumns = 1000

type columnsKey struct {
	kind        schema.GroupKind
	definitions string // JSON, as the server sent it
}

// columnsOf returns the columns of a kind with these definitions, which are the same each time.
func (i *Inventory) columnsOf(kind schema.GroupKind, definitions string) *columns {
	key := columnsKey{kind, definitions}
	if known := i.columns[key]; known != nil {
		return known
	}
	if len(i.columns) >= maxColumns { // a server that never sends the same twice
		clear(i.columns)
	}
	key.definitions = strings.Clone(definitions) // not a part of the whole row
	c := &columns{}
	for _, d := range output.ParseColumns(key.definitions) {
		d.Name, d.Type, d.Format = shorten(d.Name), shorten(d.Type), shorten(d.Format)
		column := Column{Column: d}
		column.AgeFormat, column.begins = clockOf(kind, &column)
		column.HasStartTime = column.begins != nil
		c.all = append(c.all, column)
	}
	served := len(c.all)
	for _, label := range i.options.Labels {
		c.all = append(c.all, Column{Column: output.Column{Name: label}, IsLabel: true})
	}
	if i.options.ShowLabels {
		c.all = append(c.all, Column{IsLabel: true})
	}
	c.labels = len(c.all) - served
	i.columns[key] = c
	return c
}

// Columns returns those of the cells, which stay as they are: others only where the slice is another one.
func (s *State) Columns() []Column { return s.columns.all }

// SameColumns reports whether these are the very same columns.
func SameColumns(a, b []Column) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// MergeColumns returns columns, and behind them those of more that they lack, as a cluster of another
// version may have others.
func MergeColumns(columns, more []Column) []Column {
	if len(columns) == 0 || SameColumns(columns, more) {
		return more
	}
	all := slices.Clip(columns)
	for _, c := range more {
		if !slices.ContainsFunc(columns, func(known Column) bool { return known.Header() == c.Header() }) {
			all = append(all, c)
		}
	}
	return all
}

// maxCell is how many bytes of a cell are kept: more than anybody shows.
const maxCell = 1000

func cellsOf(row string) string {
	cells := gjson.Get(row, "cells")
	if len(cells.Raw) <= maxCell {
		return strings.Clone(cells.Raw)
	}
	var short []any
	for _, cell := range cells.Array() {
		if text := cell.String(); len(text) > maxCell {
			short = append(short, shorten(text))
		} else {
			short = append(short, json.RawMessage(cell.Raw))
		}
	}
	text, err := json.Marshal(short)
	if err != nil { // the server's JSON, which was read
		panic(err)
	}
	return string(text)
}

func shorten(text string) string {
	if len(text) <= maxCell {
		return text
	}
	return strings.ToValidUTF8(text[:maxCell], "") + "…"
}

// Values returns the cells of the server's table, perhaps more than columns; none if it makes none.
func (s *State) CellValues() []gjson.Result { return gjson.Parse(s.cells).Array() }

// Cells returns a cell for each of Columns as of the time of the state, safe for a terminal.
func (s *State) Cells() []string {
	columns := s.Columns()
	cells := []string{output.EscapeLine(s.Object.Name), output.FormatAge(s.Time, s.Created)}
	if s.cells != "" {
		cells = output.ParseCells(s.cells, len(columns)-s.columns.labels)
	}
	if s.columns.labels == 0 {
		return cells
	}
	set := s.Labels()
	for _, c := range columns[len(columns)-s.columns.labels:] {
		if c.Name == "" {
			cells = append(cells, output.EscapeLine(labels.FormatLabels(set)))
		} else {
			cells = append(cells, output.EscapeLine(set[c.Name]))
		}
	}
	return cells
}

// HasTable reports whether the server makes a table of the object.
func (s *State) HasCells() bool { return s.cells != "" }
