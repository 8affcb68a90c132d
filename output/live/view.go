package live

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
)

// view is the part of the table that is seen, and the selected row in it.
type view struct {
	*canvas
	*store
	cursor
	clusters *clusters
	paused   *pause // nil: the table goes on
}

// pause is the table as it was when the user paused it.
type pause struct {
	table  *table
	at     time.Time
	events int
}

// cursor is which row is selected.
type cursor struct {
	resource schema.GroupResource
	object   name
	// holds: it was chosen. Else it is the first row, whichever that is.
	holds     bool
	row, line int // its number among all, and where it stands on the screen
}

func (v *view) shown() *table {
	if v.paused != nil {
		return v.paused.table
	}
	return v.table
}

// tables are the present one, and the one that is shown while it is paused.
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

// pause holds the table as it is, or lets it go on.
func (v *view) pause() {
	if v.paused != nil {
		v.paused = nil
		return
	}
	v.paused = &pause{v.table.clone(v.histories), v.now(), v.events}
}

// sort takes the next order, and returns its name.
func (v *view) sort() string {
	next := (v.shown().order + 1) % orders
	for _, t := range v.tables() {
		t.order = next
		t.arrange()
	}
	return orderNames[next]
}

// settle finds the selected row again, and returns the outline and the first line that is seen.
func (v *view) settle() (o outline, top int) {
	sections := v.shown().sections
	o = outlineOf(sections, func(s *section) bool { return len(sections) == 1 || v.troubleOf(s) != "" })
	if o.rows == 0 {
		return o, 0
	}
	v.row = v.find(&o)
	line, height := o.lineOf(v.row), v.body()
	top = min(line-v.line, o.lines-height)
	// The first line is a header, of whichever section.
	top = max(min(top, line-1), line-height+1, 0)
	v.line = line - top
	v.remember(&o)
	return o, top
}

// find returns the number of the selected row, or of the one in its place.
func (v *view) find(o *outline) int {
	if !v.holds {
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

// selected returns the selected row; nil if there is none.
func (v *view) selected() (*section, *row) {
	o, _ := v.settle()
	return o.row(v.row)
}

// far is further than there are lines.
const far = 1 << 30

// moveBy is by how many lines a key moves, and whether it does.
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
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

func (v *view) press(key string) bool {
	o, _ := v.settle()
	switch by, moves := moveBy(key, max(v.body()-2, 1)); {
	case by == -far:
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
	v.holds = true
	v.remember(o)
}

// section returns the first row of the next section that has some, or, back, of the one before.
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

// scroll moves what is seen by some lines. The selected row is the nearest that is seen.
func (v *view) scroll(by int) {
	o, top := v.settle()
	to := min(max(top+by, 0), max(o.lines-v.body(), 0))
	if to == top || o.rows == 0 {
		return
	}
	if first, last := v.seen(&o, to); first <= last {
		v.row = min(max(v.row, first), last)
	}
	v.line = o.lineOf(v.row) - to
	v.holds = true
	v.remember(&o)
}

// seen returns the numbers of the first and last row that are seen below the header in line top.
func (v *view) seen(o *outline, top int) (first, last int) {
	return o.before(top + 1), o.before(top+v.body()) - 1
}

func (v *view) click(y int) {
	o, top := v.settle()
	line := y - v.above()
	if line < 1 || line >= v.body() {
		return
	}
	if s, i := o.at(top + line); s != nil && i >= 0 {
		v.choose(&o, s.first+i)
		v.line = line
	}
}

// position says which rows are seen; nothing if all are.
func (v *view) position() string {
	o, top := v.settle()
	first, last := v.seen(&o, top)
	if o.lines <= v.body() || first > last {
		return ""
	}
	return fmt.Sprintf("%d-%d of %d", first+1, last+1, o.rows)
}

// about says what is known of the selected row beside its cells.
func (v *view) about() string {
	s, r := v.selected()
	if r == nil {
		return ""
	}
	text := s.resource.Resource + "/" + output.EscapeLine(r.Entry.Name)
	if r.Entry.Cluster != "" {
		text = output.EscapeLine(r.Entry.Cluster) + " " + text
	}
	if r.gone {
		return text + "  deleted " + output.FormatAge(v.clock(), r.at) + " ago"
	}
	if why := r.why(); why != "" {
		text += "  " + why
	}
	states := -1
	for _, h := range v.histories(r) {
		states += len(h.States) + h.Evicted
	}
	if states > 0 && !r.at.IsZero() { // what changes just now is in the inventory first
		text += fmt.Sprintf("  %s, the last %s ago", counted(states, "change"), output.FormatAge(v.clock(), r.at))
	}
	return text
}
