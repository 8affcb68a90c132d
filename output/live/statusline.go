package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// statusLine is the line at the top, and the message above the keys.
type statusLine struct {
	*canvas
	*store
	answer
}

type answer struct {
	text string
	at   time.Time
}

const (
	// answerFor is how long an answer is shown, and noteFor a note after it came.
	answerFor = 4 * time.Second
	noteFor   = 15 * time.Second
	// leastTitle is how much of a title is seen at least, if there is room at all.
	leastTitle = 24
	// longestAgo is how wide it is at most how long ago something was.
	longestAgo = len("9m59s")
)

func (s *statusLine) say(text string) { s.answer = answer{text, s.now()} }

// top says what is shown, and how the connection is. cut makes the title no wider than that.
func (s *statusLine) top(title string, cut func(string, int) string, counts string) string {
	rights := s.connection()
	if s.past != nil {
		rights = s.position()
	}
	for _, right := range rights {
		room := s.width - s.StringWidth(right) - s.StringWidth(counts) - 3
		if room >= min(s.StringWidth(title), leastTitle) {
			return s.fit(s.paint(bold, " "+cut(title, room))+counts, s.width-s.StringWidth(right)) + right
		}
	}
	return s.sides(s.paint(bold, " "+title), s.width, rights[len(rights)-1])
}

// cutTitle makes the title of the table no wider than room: what follows " in " stays longest, and a
// namespace is known without the word.
func (c *canvas) cutTitle(title string, room int) string {
	if c.StringWidth(title) <= room {
		return title
	}
	for _, word := range []string{"namespace ", "namespaces "} {
		title = strings.Replace(title, " in "+word, " in ", 1)
	}
	i := strings.LastIndex(title, " in ")
	left := room - c.StringWidth(title[max(i, 0):])
	if i < 0 || left < leastTitle/3 {
		return c.Truncate(title, room, ellipsis)
	}
	return c.Truncate(title[:i], left, ellipsis) + title[i:]
}

// counts says how many objects a table has, and how many of them need a look.
func (s *statusLine) counts(t *table) string {
	objects, notReady, shown := t.total()
	text := "  " + counted(objects, "object")
	if t.filter.typed != "" {
		text = fmt.Sprintf("  %d of %s", shown, counted(objects, "object"))
	}
	text = s.paint(faint, text)
	if notReady > 0 {
		text += s.paint(faint, ", ") + s.paint(waiting, fmt.Sprintf("%d not ready", notReady))
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// connection is how it is and when the last event came, at length and shorter, as wide each time.
func (s *statusLine) connection() []string {
	now := s.now()
	phase, word, since := s.store.connection()
	last, short, room := "no event yet", "-", 0
	if !s.links.LastEvent.IsZero() {
		short = output.FormatAge(now, s.links.LastEvent)
		last, room = "last event "+short+" ago", longestAgo-len(short)
	}
	look, sign := fine, "●"
	switch phase {
	case event.PhaseConnecting:
		look, sign = waiting, "◌"
	case event.PhaseLost, event.PhaseDenied:
		look, sign = broken, "✗"
		if since.IsZero() { // of several, which differ
			break
		}
		lasts := output.FormatAge(now, since)
		word, room = word+" "+lasts, room+longestAgo-len(lasts)
	}
	state, rest := s.paint(look, sign+" "+word), strings.Repeat(" ", max(room, 0)+1)
	return []string{
		state + s.paint(faint, " · "+last) + rest,
		state + s.paint(faint, " · "+short) + rest,
		s.paint(look, sign) + s.paint(faint, " "+short) + rest,
	}
}

// message is an answer, a note, or what is known of a row; if there is room, which are seen.
func (s *statusLine) message(about, position string) string {
	text, isNews := s.news()
	if !isNews {
		text = s.paint(faint, about)
	}
	position = s.paint(faint, position)
	room := s.width - 2 - s.StringWidth(position) - gap
	if position == "" || room < leastName || isNews && s.StringWidth(text) > room {
		return " " + s.Truncate(text, s.width-2, ellipsis)
	}
	return " " + s.fit(s.fit(text, room), room+gap) + position
}

// news is the answer or note to be shown now; during an outage the note that began it.
func (s *statusLine) news() (string, bool) {
	now := s.now()
	if s.answer.text != "" && now.Sub(s.answer.at) < answerFor {
		return s.paint(bold, s.answer.text), true
	}
	if s.past != nil {
		return s.unknown()
	}
	if len(s.notes) == 0 {
		return "", false
	}
	note := s.notes[len(s.notes)-1]
	phase, _, since := s.store.connection()
	isOutage := !since.IsZero() && (phase == event.PhaseLost || phase == event.PhaseDenied) && !note.at.Before(since.Add(-time.Second))
	if now.Sub(note.at) >= noteFor && !isOutage {
		return "", false
	}
	return s.paint(alarm, "!") + " " + output.FormatClock(note.at, s.FullTimestamps) + " " + note.text, true
}
