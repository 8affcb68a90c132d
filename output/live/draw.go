package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/watcher/event"
)

// roomy is from how many lines on there are some that could be done without.
const roomy = 16

// above is how many lines there are above the table or the text, and below it.
func (m *model) above() int {
	if m.height >= roomy {
		return 2
	}
	return 1
}

func (m *model) below() int { return 2 }

// draw returns all that is on the screen.
func (m *model) draw() string {
	lines := make([]string, 0, m.height)
	lines = append(lines, m.top())
	if m.above() > 1 {
		lines = append(lines, "")
	}
	if m.pager != nil {
		lines = append(lines, m.pagerBody()...)
	} else {
		lines = append(lines, m.tableBody()...)
	}
	for len(lines) < m.height-m.below() {
		lines = append(lines, "")
	}
	lines = append(lines[:max(m.height-m.below(), 0)], m.message(), m.bottom())
	lines = lines[max(len(lines)-m.height, 0):]
	for i, line := range lines {
		if m.StringWidth(line) > m.width { // on a very small screen
			lines[i] = m.Truncate(line, m.width, "")
		}
	}
	return strings.Join(lines, "\n")
}

// leastTitle is how much of a title is seen at least, if there is room at all.
const leastTitle = 24

// top says what is shown, and how the connection is.
func (m *model) top() string {
	title := m.Title
	if m.pager != nil {
		title = m.pagerTitle()
	}
	counts := ""
	if m.pager == nil {
		counts = m.counts()
	}
	rights := m.connection()
	for _, right := range rights {
		room := m.width - m.StringWidth(right) - m.StringWidth(counts) - 3
		if room >= min(width(title), leastTitle) {
			return m.fit(m.paint(bold, " "+m.cutTitle(title, room))+counts, m.width-m.StringWidth(right)) + right
		}
	}
	return m.sides(m.paint(bold, " "+title), m.width, rights[len(rights)-1])
}

// cutTitle makes a title no wider than that: where it is stays, of what there is as much
// as has room. Of an object the end of its name stays.
func (m *model) cutTitle(title string, room int) string {
	if m.pager != nil {
		return m.middle(title, room)
	}
	i := strings.LastIndex(title, " in ")
	left := room - m.StringWidth(title[max(i, 0):])
	if i < 0 || left < leastTitle/3 {
		return m.Truncate(title, room, ellipsis)
	}
	return m.Truncate(title[:i], left, ellipsis) + title[i:]
}

// counts says how many objects there are, and how many of them need a look.
func (m *model) counts() string {
	objects, notReady, shown := m.shownTable().total()
	text := "  " + counted(objects, "object")
	if f := m.shownTable().filter.typed; f != "" {
		text = fmt.Sprintf("  %d of %s", shown, counted(objects, "object"))
	}
	text = m.paint(faint, text)
	if notReady > 0 {
		text += m.paint(faint, ", ") + m.paint(waiting, fmt.Sprintf("%d not ready", notReady))
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// connection says how the connection is and how long ago the last event came, at length
// and shorter. Each is as wide whatever the time is, so that nothing moves with it.
func (m *model) connection() []string {
	now := m.now()
	health, word, since := healthOf(m.links)
	last, short, room := "no event yet", "-", 0
	if !m.last.IsZero() {
		short = ago(now, m.last)
		last, room = "last event "+short+" ago", longestAgo-len(short)
	}
	look, sign := fine, "●"
	switch health {
	case connecting:
		look, sign = waiting, "◌"
	case lost, denied:
		look, sign = broken, "✗"
		lasts := ago(now, since)
		word, room = word+" "+lasts, room+longestAgo-len(lasts)
	}
	state, rest := m.paint(look, sign+" "+word), strings.Repeat(" ", max(room, 0)+1)
	return []string{
		state + m.paint(faint, " · "+last) + rest,
		state + m.paint(faint, " · "+short) + rest,
		m.paint(look, sign) + m.paint(faint, " "+short) + rest,
	}
}

// tableBody are the lines of the table that are seen.
func (m *model) tableBody() []string {
	spans, lines, rows := m.spans()
	if len(spans) == 0 || rows == 0 && len(m.shownTable().sections) == 1 && m.troubleOf(spans[0].section) == "" {
		return []string{"", "   " + m.paint(faint, m.nothing())}
	}
	top, height := m.settle(spans, lines, rows), m.body()
	cursor := lineOf(spans, m.cursor.row)
	places := map[*section][]place{}
	body := make([]string, 0, height)
	for line := top; line < min(top+height, lines); line++ {
		s, i := at(spans, line)
		if line == top && s != nil {
			i = -1 // whose rows these are is always seen
		}
		if s == nil {
			body = append(body, "")
			continue
		}
		if places[s] == nil {
			places[s] = s.places(m.width-margin, m.Namespaces, m.Wide, s.title(len(m.shownTable().sections) > 1))
		}
		if i < 0 {
			body = append(body, m.header(s, places[s]))
		} else {
			body = append(body, m.row(s.order[i], places[s], line == cursor && rows > 0))
		}
	}
	return body
}

// nothing says why there are no rows.
func (m *model) nothing() string {
	objects, _, _ := m.shownTable().total()
	switch health, _, _ := healthOf(m.links); {
	case objects > 0:
		return "none of " + counted(objects, "object") + " matches; esc shows all"
	case health == connected:
		return "nothing there yet"
	default:
		return "waiting for the server"
	}
}

// troubleOf says what is wrong with the watch of a section.
func (m *model) troubleOf(s *section) string {
	trouble := troubleWith(m.links, func(l *event.Link) bool { return l.Target.Key().Resource == s.resource })
	switch trouble.phase {
	case event.PhaseLost:
		return "as of " + trouble.asOf.Local().Format(time.TimeOnly) + ", connection lost"
	case event.PhaseDenied:
		return "denied, trying again"
	case event.PhaseGone:
		return "gone, the server no longer has the resource"
	default:
		return ""
	}
}

// header has the names of the columns, and what is wrong with what is below.
func (m *model) header(s *section, places []place) string {
	var line strings.Builder
	line.WriteString(strings.Repeat(" ", margin))
	for i, p := range places {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		line.WriteString(m.fit(p.title, p.width))
	}
	if len(places) == 0 {
		line.WriteString(strings.ToUpper(s.resource.Resource))
	}
	text := m.paint(heading, strings.TrimRight(line.String(), " "))
	trouble := m.troubleOf(s)
	if trouble == "" {
		return text
	}
	short, _, _ := strings.Cut(trouble, ",") // what comes first says most
	long := "! " + trouble
	if m.StringWidth(text)+gap+m.StringWidth(long) >= m.width {
		long = "! " + short
	}
	return m.sides(text, m.width, m.paint(alarm, long)+" ", m.paint(alarm, "!")+" ")
}

// row is a row as it is drawn. Of the selected one the name stands out.
func (m *model) row(r *row, places []place, isSelected bool) string {
	now := m.clock()
	var line strings.Builder
	m.signs(r, now, &line)
	for i, p := range places {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		look, text := m.cell(r, p, now)
		if isSelected && p.name {
			look = selected
		}
		line.WriteString(m.paint(look, text))
	}
	return line.String()
}

// signs are the marks in front of a row: its state, and what happened to it lately.
func (m *model) signs(r *row, now time.Time, line *strings.Builder) {
	state, look := " ", normal
	switch {
	case r.gone:
	case r.rank == failed:
		state, look = "✗", broken
	case r.rank == unready:
		state, look = "◌", waiting
	}
	line.WriteString(m.paint(look, state))
	sign, look := " ", normal
	switch fresh := freshness(r.at, now); {
	case r.gone, fresh == 2:
		sign, look = string(r.sign), map[byte]style{'+': added, '-': deleted, '~': altered}[r.sign]
	case fresh == 1:
		sign, look = string(r.sign), faint
	}
	line.WriteString(m.paint(look, sign) + " ")
}

// cell is what a row has in a column, exactly as wide.
func (m *model) cell(r *row, p place, now time.Time) (style, string) {
	text, look := "", normal
	switch {
	case p.cell == namespace:
		text = m.fit(r.namespace, p.width)
	case p.cell >= len(r.cells):
		text = m.fit("", p.width)
	case p.ticks:
		if r.gone { // it grows no older
			now = r.at
		}
		text = m.fit(r.ticked(r.cells[p.cell], now), p.width)
	case p.name:
		text = m.fit(m.middle(r.cells[p.cell], p.width), p.width)
	default:
		text = m.fit(r.cells[p.cell], p.width)
	}
	switch {
	case r.gone:
		look = faint
	case p.name && r.rank == failed:
		look = broken
	case p.name && r.rank == unready:
		look = waiting
	case p.cell >= 0 && p.cell < len(r.changed) && !p.age:
		look = [...]style{normal, warm, hot}[freshness(r.changed[p.cell], now)]
	}
	if look == normal && p.cell >= 0 && p.cell < len(r.cells) && r.cells[p.cell] == "<none>" {
		look = faint // there is nothing to see
	}
	return look, text
}

// noteFor is how long a note is shown after it came.
const noteFor = 15 * time.Second

// message is the line above the keys: an answer to a key, what somebody said, or what is
// known of the selected row; and if there is room, which rows are seen.
func (m *model) message() string {
	text, isSaid := m.presentWord()
	position := m.paint(faint, m.position())
	room := m.width - 2 - m.StringWidth(position) - gap
	if position == "" || room < leastName || isSaid && m.StringWidth(text) > room {
		return " " + m.Truncate(text, m.width-2, ellipsis)
	}
	return " " + m.fit(m.fit(text, room), room+gap) + position
}

// presentWord is what there is to say, and whether it is more than what is known of a row.
func (m *model) presentWord() (text string, isSaid bool) {
	now := m.now()
	note, is := m.presentNote(now)
	switch {
	case m.said.text != "" && now.Sub(m.said.at) < saidFor:
		return m.paint(bold, m.said.text), true
	case is:
		return m.paint(alarm, "!") + " " + note.at.Local().Format(time.TimeOnly) + " " + note.text, true
	case m.pager != nil:
		return "", false
	}
	s, r := m.selected()
	if r == nil {
		return "", false
	}
	return m.paint(faint, m.about(s, r)), false
}

// position says which rows are seen; nothing if all are.
func (m *model) position() string {
	spans, lines, rows := m.spans()
	if m.pager != nil || lines <= m.body() || rows == 0 {
		return ""
	}
	top := m.settle(spans, lines, rows)
	first, last := rows, 0
	for _, s := range spans {
		from, to := max(top, s.line)+1, min(top+m.body()-1, s.line+len(s.order)) // in line top is a header
		if from <= to {
			first, last = min(first, s.row+from-s.line), s.row+to-s.line
		}
	}
	return fmt.Sprintf("%d-%d of %d", first, last, rows)
}

// presentNote is the last note, if it is not old; during an outage it is what began it.
func (m *model) presentNote(now time.Time) (note, bool) {
	if len(m.notes) == 0 {
		return note{}, false
	}
	last := m.notes[len(m.notes)-1]
	health, _, since := healthOf(m.links)
	if now.Sub(last.at) < noteFor {
		return last, true
	}
	return last, (health == lost || health == denied) && !last.at.Before(since.Add(-time.Second))
}

// about says what is known of a row beside its cells.
func (m *model) about(s *section, r *row) string {
	text := s.resource.Resource + "/" + output.Line(r.name)
	if r.gone {
		return text + "  deleted " + ago(m.clock(), r.at) + " ago"
	}
	if r.why != "" {
		text += "  " + r.why
	}
	if n := len(r.states) + r.missing - 1; n > 0 {
		text += fmt.Sprintf("  %s, the last %s ago", counted(n, "change"), ago(m.clock(), r.at))
	}
	return text
}

// bottom has the keys, or the filter that is being typed.
func (m *model) bottom() string {
	if m.typed != nil {
		return m.prompt()
	}
	if m.pager != nil {
		return m.pagerKeys()
	}
	keys := []string{"↵ changes", "d yaml", "e events", "/ filter", "s sort", "p pause", "y copy", "? help", "q quit"}
	t := m.shownTable()
	left := ""
	if m.frozen != nil {
		left = m.paint(alarm, " PAUSED") + m.paint(faint, " "+counted(m.events-m.frozenEvents, "event")+" since, p goes on ")
	}
	switch {
	case m.search != nil:
		left += m.paint(alarm, fmt.Sprintf(" looking, %d %%", m.searchedPart)) + m.paint(bold, " /"+m.search.filter.typed) + m.paint(faint, " esc stops ")
	case t.filter.typed != "":
		left += m.paint(bold, " /"+t.filter.typed) + m.paint(faint, " esc clears ")
	}
	return m.Truncate(left+m.keyLine(keys, m.width-m.StringWidth(left)), m.width, ellipsis)
}

// prompt is the filter that is being typed; if it is too long, its end, with room for the
// caret.
func (m *model) prompt() string {
	text, room := *m.typed, max(m.width-len(" /")-1, 1)
	if over := m.StringWidth(text) - room; over > 0 {
		text = m.TruncateLeft(text, over+m.StringWidth(ellipsis), ellipsis)
	}
	return m.Truncate(" /"+text, m.width, "")
}

// alwaysShown is how many keys at the end of a line of them are shown where others have no
// room: those for help and for the end.
const alwaysShown = 2

// keyLine shows keys and what they do, as many as have room.
func (m *model) keyLine(keys []string, room int) string {
	width := func(key string) int { return m.StringWidth(key) + len("  ") }
	others := len(keys) - alwaysShown
	for _, key := range keys[others:] {
		room -= width(key)
	}
	n := 0
	for n < others && width(keys[n]) <= room {
		room -= width(keys[n])
		n++
	}
	var line strings.Builder
	for _, key := range slices.Concat(keys[:n], keys[others:]) {
		key, what, _ := strings.Cut(key, " ")
		line.WriteString(" " + m.paint(bold, key) + m.paint(faint, " "+what) + " ")
	}
	return line.String()
}

// caret is where a filter is being typed.
func (m *model) caret() *tea.Cursor {
	if m.typed == nil {
		return nil
	}
	return tea.NewCursor(min(m.StringWidth(m.prompt()), max(m.width-1, 0)), m.height-1)
}
