package live

import (
	tea "charm.land/bubbletea/v2"
)

// wheelStep is by how many lines the wheel scrolls.
const wheelStep = 3

// spans places the sections of the table that is shown.
func (m *model) spans() (spans []span, lines, rows int) {
	t := m.shownTable()
	return t.spans(func(s *section) bool { return len(t.sections) == 1 || m.troubleOf(s) != "" })
}

// body is how many lines there are for the table.
func (m *model) body() int { return max(m.height-m.above()-m.below(), 1) }

// settle finds the selected row again, wherever it stands now, and returns the first line
// that is shown.
func (m *model) settle(spans []span, lines, rows int) (top int) {
	if rows == 0 {
		m.cursor.row, m.cursor.line = 0, 0
		return 0
	}
	m.cursor.row = min(max(m.cursor.row, 0), rows-1)
	if m.cursor.holds {
		m.cursor.row = m.find(spans)
	} else {
		m.cursor.row = 0
	}
	line, height := lineOf(spans, m.cursor.row), m.body()
	top = min(line-m.cursor.line, lines-height)
	// The first line is a header, of whichever section.
	top = max(min(top, line-1), line-height+1, 0)
	m.cursor.line = line - top
	m.remember(spans)
	return top
}

// find returns the number of the selected row; where that is not shown any more, of the
// one that has its place.
func (m *model) find(spans []span) int {
	order := m.shownTable().order
	for _, s := range spans {
		if s.resource != m.cursor.resource {
			continue
		}
		if r := s.rows[m.cursor.object]; r != nil && r.shown {
			return s.row + s.find(order, r)
		}
	}
	return m.cursor.row
}

// remember notes which row is selected.
func (m *model) remember(spans []span) {
	if s, i := at(spans, lineOf(spans, m.cursor.row)); s != nil && i >= 0 {
		m.cursor.resource, m.cursor.object = s.resource, object{s.order[i].namespace, s.order[i].name}
	}
}

// selected returns the selected row; nil if there is none.
func (m *model) selected() (*section, *row) {
	spans, lines, rows := m.spans()
	if rows == 0 {
		return nil, nil
	}
	m.settle(spans, lines, rows)
	s, i := at(spans, lineOf(spans, m.cursor.row))
	if s == nil || i < 0 {
		return nil, nil
	}
	return s, s.order[i]
}

// moveBy moves the selection if a key does that.
func (m *model) moveBy(key string) bool {
	spans, lines, rows := m.spans()
	m.settle(spans, lines, rows)
	page := max(m.body()-2, 1)
	to := m.cursor.row
	switch key {
	case "up", "k":
		to--
	case "down", "j":
		to++
	case "pgup", "ctrl+b":
		to -= page
	case "pgdown", "ctrl+f", "space":
		to += page
	case "home", "g":
		m.cursor = cursor{line: 1}
		return true
	case "end", "G":
		to = rows - 1
	case "tab":
		to = m.nextSection(spans)
	case "shift+tab":
		to = m.previousSection(spans)
	default:
		return false
	}
	m.choose(spans, to, rows)
	return true
}

// choose selects a row by its number.
func (m *model) choose(spans []span, row, rows int) {
	if rows == 0 {
		return
	}
	before := lineOf(spans, m.cursor.row)
	m.cursor.row = min(max(row, 0), rows-1)
	m.cursor.line += lineOf(spans, m.cursor.row) - before
	m.cursor.line = min(max(m.cursor.line, 1), m.body()-1)
	m.cursor.holds = true
	m.remember(spans)
}

func (m *model) nextSection(spans []span) int {
	for _, s := range spans {
		if s.row > m.cursor.row && len(s.order) > 0 {
			return s.row
		}
	}
	return m.cursor.row
}

func (m *model) previousSection(spans []span) int {
	to := 0
	for _, s := range spans {
		if s.row < m.cursor.row && len(s.order) > 0 {
			to = s.row
		}
	}
	return to
}

func (m *model) wheel(button tea.MouseButton) {
	by := wheelStep
	switch button {
	case tea.MouseWheelUp:
		by = -by
	case tea.MouseWheelDown:
	default:
		return
	}
	if m.pager != nil {
		m.pager.scroll(by, m.pagerLines())
		return
	}
	spans, lines, rows := m.spans()
	top := m.settle(spans, lines, rows)
	to := min(max(top+by, 0), max(lines-m.body(), 0))
	if to == top || rows == 0 {
		return
	}
	m.cursor.line -= to - top
	if line := m.cursor.line; line < 1 || line > m.body()-1 {
		m.cursor.line = min(max(line, 1), m.body()-1)
		for r := range rows { // the first row that is seen, or the last
			if l := lineOf(spans, r) - to; l >= 1 && l < m.body() {
				m.cursor.row = r
				if line < 1 {
					break
				}
			}
		}
		m.cursor.line = lineOf(spans, m.cursor.row) - to
	}
	m.cursor.holds = true
	m.remember(spans)
}

// click selects the row at a line of the screen.
func (m *model) click(y int) {
	if m.pager != nil {
		return
	}
	spans, lines, rows := m.spans()
	top := m.settle(spans, lines, rows)
	line := y - m.above()
	if line < 1 || line >= m.body() {
		return
	}
	for _, s := range spans {
		if i := top + line - s.line - 1; i >= 0 && i < len(s.order) {
			m.choose(spans, s.row+i, rows)
			m.cursor.line = line
			return
		}
	}
}
