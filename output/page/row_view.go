package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// Limits of a row. maxMessage, maxCell and maxName are in characters, and maxLabelBytes is in bytes.
const (
	maxMessage    = 300
	maxCell       = 200
	maxCells      = 50
	maxLabels     = 32
	maxLabelBytes = 2 << 10
	maxOwners     = 8
	maxManagers   = 16
	maxName       = 300
)

const (
	// maxEnded is the maximum number of deleted objects that are retained.
	maxEnded = 1000
	// maxSegments and maxTicks limit the timeline of a row.
	maxSegments = 50
	maxTicks    = 100
)

// rowView is the row of an object in the table of the page.
type rowView struct {
	state   *inventory.State
	row     []byte   // encoded without the timeline; nil at a past time of a live cluster: see then
	changed int64    // time of the last change
	about   *subject // of a Kubernetes Event when it was first seen; nil for other objects
	by      []string // field managers of the retained states
	changes int      // number of changes since the object was first seen
	// segments and ticks are the timeline: when a status began, and the times of changes. segmentsMore and ticksMore count
	// the oldest ones, which were dropped.
	segments                []segment
	ticks                   []int64
	segmentsMore, ticksMore int
}

type segment struct {
	from  int64
	state string // a kstatus status, or the type of a Kubernetes Event
}

// rowViewOf returns the row of the object of s, or nil if it has none yet. The Hub must be locked.
func rowViewOf(h *Hub, s *inventory.State) *rowView { return rowViewOfEntry(h, s.Entry) }

// rowViewOfEntry returns the row of o, or nil if it has none yet. The Hub must be locked.
func rowViewOfEntry(h *Hub, o *inventory.Entry) *rowView {
	d, _ := o.ViewData.(*rowView)
	if d != nil && d.row == nil {
		return d.then(h)
	}
	return d
}

// show updates the row with a state and its change, whose sequence number is seq. It returns a new row as a whole, and
// otherwise the members that changed, without those that viewers can derive from m. nil means that there is nothing to
// send.
func (d *rowView) show(s *inventory.State, r *resource, m *changeMessage, seq uint64) []byte {
	deleted, isNew := m.Event == string(event.Deleted), d.row == nil
	if d.state = s; !m.Feed && !isNew && m.Event == string(event.Modified) {
		before := gjson.GetBytes(d.row, "seq").Uint()
		if bytes.Equal(d.row, encode(rowOf(s, r, d, before))) {
			return nil
		}
	}
	if isNew && s.KubeEvent != nil {
		d.about = aboutOf(s)
	}
	if m.Feed {
		d.changes++
		d.changed = m.Time
		d.tick(m.Time)
	}
	if !deleted {
		d.enter(m.Time, statusOf(s).State)
	}
	row := rowOf(s, r, d, seq)
	if deleted {
		row.Ended = m.Time
	}
	before := d.row
	if d.row = encode(row); isNew {
		return d.row
	}
	return different(before, d.row, m.Feed)
}

// inMessage has the members of a row that viewers can derive from its change message. For true, that holds only if
// the message is in the feed.
var inMessage = map[string]bool{"key": false, "resource": false, "cluster": false, "namespace": false, "name": false, "seq": false, "changed": true, "changes": true}

// different returns the changed members of a row as a JSON object, without those in inMessage. Removed members are null.
// counts is true if the message is in the feed.
func different(before, now []byte, counts bool) []byte {
	was, out := map[string]string{}, []byte("{")
	gjson.ParseBytes(before).ForEach(func(name, value gjson.Result) bool {
		was[name.Str] = value.Raw
		return true
	})
	add := func(name, value string) {
		if ifCounts, is := inMessage[name]; !is || ifCounts && !counts {
			out = fmt.Appendf(out, `%s%q:%s`, ","[:min(len(out)-1, 1)], name, value)
		}
	}
	gjson.ParseBytes(now).ForEach(func(name, value gjson.Result) bool {
		if was[name.Str] != value.Raw {
			add(name.Str, value.Raw)
		}
		delete(was, name.Str)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(was)) {
		add(name, "null")
	}
	return append(out, '}')
}

func (d *rowView) enter(at int64, state string) {
	if n := len(d.segments); n == 0 || d.segments[n-1].state != state {
		d.segments = addLast(d.segments, segment{at, state}, maxSegments, &d.segmentsMore)
	}
}

func (d *rowView) tick(at int64) { d.ticks = addLast(d.ticks, at, maxTicks, &d.ticksMore) }

// addLast appends one. If all already has limit elements, it drops the first and increments more.
func addLast[T any](all []T, one T, limit int, more *int) []T {
	if len(all) == limit {
		all = slices.Delete(all, 0, 1)
		*more++
	}
	return append(all, one)
}

func (d *rowView) appendTo(dst []byte) []byte {
	dst = append(append(dst, d.row[:len(d.row)-1]...), `,"segments":[`...)
	for i, s := range d.segments {
		dst = fmt.Appendf(dst, `%s[%d,%q]`, ","[:min(i, 1)], s.from, s.state)
	}
	dst = append(dst, `],"ticks":[`...)
	for i, at := range d.ticks {
		dst = strconv.AppendInt(append(dst, ","[:min(i, 1)]...), at, 10)
	}
	return fmt.Appendf(dst, `],"segmentsMore":%d,"ticksMore":%d}`, d.segmentsMore, d.ticksMore)
}

// rowOf returns the row of a state, with its cells in the order of the columns of the resource.
func rowOf(s *inventory.State, of *resource, d *rowView, seq uint64) *row {
	r := &row{
		called: calledBy(s.Entry), Seq: seq, UID: string(s.Entry.UID), Created: millis(s.Created), Status: statusOf(s), Cells: cellsOf(s, of),
		First: millis(s.Entry.FirstSeen), Initial: s.Entry.Initial, Changed: d.changed, Changes: d.changes, About: d.about,
	}
	r.Labels, r.LabelsMore = labelsOf(s)
	for _, name := range d.by[:min(len(d.by), maxManagers)] {
		r.By = append(r.By, clip(name, maxName))
	}
	for _, o := range s.Owners[:min(len(s.Owners), maxOwners)] {
		r.Owners = append(r.Owners, ownerRef{clip(string(o.UID), maxName), clip(o.Kind, maxName), clip(o.Name, maxName), o.Controller})
	}
	return r
}

// aboutOf returns the involved object of a Kubernetes Event.
func aboutOf(s *inventory.State) *subject {
	a := &subject{UID: clip(string(s.KubeEvent.InvolvedObject.UID), maxName), Kind: clip(s.KubeEvent.InvolvedObject.Kind, maxName), Name: clip(s.KubeEvent.InvolvedObject.Name, maxName)}
	if s.Initial || s.Listed {
		a.At = millis(s.KubeEvent.LastSeen)
	}
	return a
}

func calledBy(o *inventory.Entry) called {
	return called{o.ID, o.Resource.String(), clip(o.Cluster, maxName), o.Namespace, clip(o.Name, maxName)}
}

func statusOf(s *inventory.State) state {
	if s.EventType != "" {
		return state{State: clip(s.EventType, maxName)}
	}
	return state{s.Status.String(), clip(s.Message, maxMessage)}
}

func labelsOf(s *inventory.State) (some map[string]string, more int) {
	all := s.Labels()
	if len(all) == 0 {
		return nil, 0
	}
	some = make(map[string]string, min(len(all), maxLabels))
	size := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if size += len(name) + len(all[name]); len(some) == maxLabels || size > maxLabelBytes {
			break
		}
		some[name] = all[name]
	}
	return some, len(all) - len(some)
}

// cellsOf returns the cells of a state in the order of the columns of its resource, or nil if the server has sent none.
func cellsOf(s *inventory.State, r *resource) []any {
	own := ownCells(s)
	if len(own) == 0 || r.places == nil {
		return own
	}
	cells := make([]any, len(r.Columns))
	for i, at := range r.places[&s.Columns()[0]] {
		if i < len(own) && at >= 0 {
			cells[at] = own[i]
		}
	}
	return cells
}

// ownCells returns the cells in the order of the columns of the state.
func ownCells(s *inventory.State) (cells []any) {
	for i, value := range s.CellValues() {
		if i == min(len(s.Columns()), maxCells) {
			break
		}
		cells = append(cells, cellOf(s, i, value))
	}
	return cells
}

// cellOf returns the value of a cell for viewers. For durations that count from a known time, it is that time in ms. For
// other ages it is nil, because they are outdated at once.
func cellOf(s *inventory.State, column int, value gjson.Result) any {
	at, counts := s.CellStart(column)
	clock := s.Columns()[column].AgeFormat
	switch {
	case counts && !at.IsZero():
		return at.UnixMilli()
	case counts, clock == inventory.AgeWhole:
		return nil
	case clock == inventory.AgeSuffix && value.Type == gjson.String:
		number, _, _ := strings.Cut(value.String(), " (")
		return clip(number, maxCell)
	case value.Type == gjson.String, value.Type == gjson.JSON, len(value.Raw) > maxCell:
		return clip(value.String(), maxCell)
	}
	return json.RawMessage(value.Raw)
}

// valueText returns a value as text, and the number of omitted characters.
func valueText(value any) (*string, int) {
	text, isText := value.(string)
	if !isText {
		text = output.JSON(value)
	}
	short := cut(text, maxValue)
	return &short, utf8.RuneCountInString(text) - utf8.RuneCountInString(short)
}

// cut returns the first characters of text.
func cut(text string, characters int) string {
	if len(text) <= characters {
		return text
	}
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// clip is like cut, and appends "…" to text that was cut.
func clip(text string, characters int) string {
	short := cut(text, characters)
	if len(short) < len(text) {
		return short + "…"
	}
	return short
}
