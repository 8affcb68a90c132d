package live

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/output/text"
)

// view is the visible part of the table and the selected row. It embeds the canvas and the store because all parts of the
// screen paint and read data through their view.
type view struct {
	*canvas
	*store
	cursor
	clusters *clusters
	paused   *pause // nil unless paused
}

// pause is a copy of the table from the moment at which the user paused it.
type pause struct {
	table  *table
	at     time.Time
	events int
}

// cursor identifies the selected row.
type cursor struct {
	resource schema.GroupResource
	object   name
	// chosen is true if the user selected a row. Otherwise the first row is selected, whichever it is.
	chosen    bool
	row, line int // its index in the table, and its line on the screen
}

func (v *view) shown() *table {
	if v.paused != nil {
		return v.paused.table
	}
	return v.table
}

// tables returns the current table and, while paused, the copy that is shown.
func (v *view) tables() []*table {
	if v.paused != nil {
		return []*table{v.table, v.paused.table}
	}
	return []*table{v.table}
}

func (v *view) clock() time.Time {
	if v.paused != nil {
		return v.paused.at
	}
	return v.now()
}

// pause pauses or resumes the table.
func (v *view) pause() {
	if v.paused != nil {
		v.paused = nil
		return
	}
	v.paused = &pause{v.table.clone(v.histories), v.now(), v.events}
}

// sort switches to the next order and returns its name.
func (v *view) sort() string {
	next := (v.shown().order + 1) % orders
	for _, t := range v.tables() {
		t.order = next
		t.sort()
	}
	return orderNames[next]
}

// layout finds the selected row again. It returns the outline and the first visible line.
func (v *view) layout() (o outline, top int) {
	sections := v.shown().sections
	o = outlineOf(sections, func(s *section) bool { return len(sections) == 1 || v.problemOf(s) != "" })
	if o.rows == 0 {
		return o, 0
	}
	v.row = v.find(&o)
	line, height := o.lineOf(v.row), v.body()
	top = min(line-v.line, o.lines-height)
	// The first visible line is always the header of a section.
	top = max(min(top, line-1), line-height+1, 0)
	v.line = line - top
	v.remember(&o)
	return o, top
}

// find returns the index of the selected row or, if it is gone, of the row that is now in that position.
func (v *view) find(o *outline) int {
	if !v.chosen {
		return 0
	}
	for _, s := range o.spans {
		if r := s.rows[v.object]; s.resource == v.resource && r != nil && r.shown {
			return s.first + s.find(v.shown().order, r)
		}
	}
	return min(max(v.row, 0), o.rows-1)
}

func (v *view) remember(o *outline) {
	if s, r := o.row(v.row); r != nil {
		v.resource, v.object = s.resource, r.name()
	}
}

// selected returns the selected row and its section, or nil.
func (v *view) selected() (*section, *row) {
	o, _ := v.layout()
	return o.row(v.row)
}

// unlimited is more than the number of lines.
const unlimited = 1 << 30

// moveBy returns the number of lines by which a key moves the selection, and whether it is such a key.
func moveBy(key string, page int) (int, bool) {
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -page, true
	case "pgdown", "ctrl+f", "space":
		return page, true
	case "home", "g":
		return -unlimited, true
	case "end", "G":
		return unlimited, true
	}
	return 0, false
}

func (v *view) press(key string) bool {
	o, _ := v.layout()
	switch by, moves := moveBy(key, max(v.body()-2, 1)); {
	case by == -unlimited:
		v.cursor = cursor{line: 1}
	case moves:
		v.choose(&o, v.row+by)
	case key == "tab", key == "shift+tab":
		v.choose(&o, v.section(&o, key != "tab"))
	default:
		return false
	}
	return true
}

func (v *view) choose(o *outline, row int) {
	if o.rows == 0 {
		return
	}
	before := o.lineOf(v.row)
	v.row = min(max(row, 0), o.rows-1)
	v.line += o.lineOf(v.row) - before
	v.line = min(max(v.line, 1), v.body()-1)
	v.chosen = true
	v.remember(o)
}

// section returns the first row of the next section with rows, or of the previous one if back is true.
func (v *view) section(o *outline, back bool) int {
	to := v.row
	if back {
		to = 0
	}
	for _, s := range o.spans {
		switch {
		case len(s.order) == 0:
		case back && s.first < v.row:
			to = s.first
		case !back && s.first > v.row:
			return s.first
		}
	}
	return to
}

// scroll scrolls by some lines. It selects the nearest visible row.
func (v *view) scroll(by int) {
	o, top := v.layout()
	to := min(max(top+by, 0), max(o.lines-v.body(), 0))
	if to == top || o.rows == 0 {
		return
	}
	if first, last := v.visibleRows(&o, to); first <= last {
		v.row = min(max(v.row, first), last)
	}
	v.line = o.lineOf(v.row) - to
	v.chosen = true
	v.remember(&o)
}

// visibleRows returns the indices of the first and last visible row below the header in line top.
func (v *view) visibleRows(o *outline, top int) (first, last int) {
	return o.rowsAbove(top + 1), o.rowsAbove(top+v.body()) - 1
}

func (v *view) click(y int) {
	o, top := v.layout()
	line := y - v.above()
	if line < 1 || line >= v.body() {
		return
	}
	if s, i := o.at(top + line); s != nil && i >= 0 {
		v.choose(&o, s.first+i)
		v.line = line
	}
}

// position returns the range of visible rows, or "" if all rows are visible.
func (v *view) position() string {
	o, top := v.layout()
	first, last := v.visibleRows(&o, top)
	if o.lines <= v.body() || first > last {
		return ""
	}
	return fmt.Sprintf("%d-%d of %d", first+1, last+1, o.rows)
}

// describeSelected returns the name and the state of the selected object, and how often and when it changed.
func (v *view) describeSelected() string {
	s, r := v.selected()
	if r == nil {
		return ""
	}
	line := s.resource.Resource + "/" + output.EscapeLine(r.Entry.Name)
	if r.Entry.Cluster != "" {
		line = output.EscapeLine(r.Entry.Cluster) + " " + line
	}
	if r.deleted {
		return line + "  deleted " + output.FormatAge(v.clock(), r.at) + " ago"
	}
	if why := r.stateText(); why != "" {
		line += "  " + why
	}
	states := -1
	for _, h := range v.histories(r) {
		states += len(h.States) + h.Evicted
	}
	if states > 0 && !r.at.IsZero() { // the inventory may be ahead of the table
		line += fmt.Sprintf("  %s, the last %s ago", text.Count(states, "change"), output.FormatAge(v.clock(), r.at))
	}
	return line
}
