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

// Column is a column of the server's table, or a label column. The Name of a label column is a label, or empty for all
// labels.
type Column struct {
	output.Column
	IsLabel bool `json:"-"`
	// AgeFormat tells how the cells change as time passes.
	AgeFormat AgeFormat `json:"-"`
	// HasStartTime is true if the cells count from a time in the object.
	HasStartTime bool `json:"counts,omitempty"`
	// startPaths are the paths of that time. The first one that exists applies.
	startPaths []string
}

// Header returns the text of the column's header.
func (c *Column) Header() string {
	switch {
	case !c.IsLabel:
		return strings.ToUpper(output.EscapeLine(c.Name))
	case c.Name == "":
		return "LABELS"
	}
	return output.EscapeLine(output.LabelHeader(c.Name))
}

// IsAge reports whether the column shows the age of the object.
func (c *Column) IsAge() bool { return !c.IsLabel && strings.EqualFold(c.Name, "Age") }

// columns is an immutable set of columns.
type columns struct {
	all    []Column
	labels int // number of label columns, which are the last ones
}

// maxColumns bounds the number of cached column sets.
const maxColumns = 1000

type columnsKey struct {
	kind        schema.GroupKind
	definitions string // JSON, as the server sent it
}

// columnsOf returns the columns for a kind with the server's definitions. Equal arguments give the same pointer, as long
// as the result is cached.
func (r *stateReader) columnsOf(kind schema.GroupKind, definitions string) *columns {
	key := columnsKey{kind, definitions}
	if known := r.columns[key]; known != nil {
		return known
	}
	if len(r.columns) >= maxColumns { // the server sends different definitions each time
		clear(r.columns)
	}
	key.definitions = strings.Clone(definitions) // do not retain the whole row
	c := &columns{}
	for _, d := range output.ParseColumns(key.definitions) {
		d.Name, d.Type, d.Format = shorten(d.Name), shorten(d.Type), shorten(d.Format)
		column := Column{Column: d}
		column.AgeFormat, column.startPaths = ageFormatOf(kind, &column)
		column.HasStartTime = column.startPaths != nil
		c.all = append(c.all, column)
	}
	served := len(c.all)
	for _, label := range r.options.Labels {
		c.all = append(c.all, Column{Column: output.Column{Name: label}, IsLabel: true})
	}
	if r.options.ShowLabels {
		c.all = append(c.all, Column{IsLabel: true})
	}
	c.labels = len(c.all) - served
	r.columns[key] = c
	return c
}

// tableRow has the cells that the server's table shows for an object.
type tableRow struct {
	columns *columns
	cells   string       // JSON; empty if there are none
	times   []columnTime // by column; nil if no column counts from a time in the object
}

// Columns returns the columns of the cells. The slice is immutable; SameColumns compares two of them.
func (r *tableRow) Columns() []Column { return r.columns.all }

// SameColumns reports whether a and b are the same slice.
func SameColumns(a, b []Column) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// MergeColumns returns columns followed by the columns of more with other headers. Clusters of different versions can
// have different columns.
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

// maxCell is the maximum number of bytes retained per cell, more than any view shows.
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
	if err != nil { // cannot happen: the cells were parsed from JSON
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

// CellValues returns the cells of the server's table. There can be more cells than columns, or none.
func (r *tableRow) CellValues() []gjson.Result { return gjson.Parse(r.cells).Array() }

// Cells returns the text for each of Columns at the time of the state, escaped for terminals.
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

// HasCells reports whether the server sent table cells for the object.
func (r *tableRow) HasCells() bool { return r.cells != "" }
