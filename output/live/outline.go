package live

import "slices"

// span is the position of a section in the table.
type span struct {
	*section
	line  int // line of the header
	first int // index of the section's first row among all rows
}

// outline has the positions of the sections of a table. Each section has a header and its rows. An empty line separates two
// sections.
type outline struct {
	spans       []span
	lines, rows int
}

// outlineOf returns the outline of sections. It leaves out sections without rows, unless show returns true for them.
func outlineOf(sections []*section, show func(*section) bool) (o outline) {
	for _, s := range sections {
		if len(s.order) == 0 && !show(s) {
			continue
		}
		if o.lines > 0 {
			o.lines++
		}
		o.spans = append(o.spans, span{s, o.lines, o.rows})
		o.lines += 1 + len(s.order)
		o.rows += len(s.order)
	}
	return o
}

// lineOf returns the line of a row, given its index among all rows.
func (o *outline) lineOf(row int) int {
	for _, s := range slices.Backward(o.spans) {
		if row >= s.first {
			return s.line + 1 + row - s.first
		}
	}
	return 0
}

// at returns the section in a line, and the index of the row in the section, which is -1 for the header. The section of an empty
// line is nil.
func (o *outline) at(line int) (*span, int) {
	for i := range slices.Backward(o.spans) {
		s := &o.spans[i]
		row := line - s.line - 1
		if row >= len(s.order) {
			break
		}
		if row >= -1 {
			return s, row
		}
	}
	return nil, 0
}

// row returns a row and its section, given its index among all rows. It returns nil if there is none.
func (o *outline) row(index int) (*section, *row) {
	if s, i := o.at(o.lineOf(index)); s != nil && i >= 0 {
		return s.section, s.order[i]
	}
	return nil, nil
}

// rowsAbove returns the number of rows above a line.
func (o *outline) rowsAbove(line int) int {
	rows := 0
	for _, s := range o.spans {
		rows += min(max(line-s.line-1, 0), len(s.order))
	}
	return rows
}
