package live

import "slices"

// span is where a section stands among all lines.
type span struct {
	*section
	line, first int // of its header, and the number of its first row among all
}

// outline is where the sections of a table stand, each a header and rows, then an empty line.
type outline struct {
	spans       []span
	lines, rows int
}

// outlineOf leaves out sections without rows, unless show says otherwise.
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

// lineOf returns the line of a row by its number among all.
func (o *outline) lineOf(row int) int {
	for _, s := range slices.Backward(o.spans) {
		if row >= s.first {
			return s.line + 1 + row - s.first
		}
	}
	return 0
}

// at returns the section in a line and which of its rows, -1 for its header; nil for an empty line.
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

// row returns a row by its number among all; nil if there is none.
func (o *outline) row(number int) (*section, *row) {
	if s, i := o.at(o.lineOf(number)); s != nil && i >= 0 {
		return s.section, s.order[i]
	}
	return nil, nil
}

// before is how many rows stand above a line.
func (o *outline) before(line int) int {
	rows := 0
	for _, s := range o.spans {
		rows += min(max(line-s.line-1, 0), len(s.order))
	}
	return rows
}
