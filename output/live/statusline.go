package live

import (
	"fmt"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

// statusLine draws the line at the top and the message above the keys.
type statusLine struct {
	*canvas
	*store
	reply
}

type reply struct {
	text string
	at   time.Time
}

const (
	// replyDuration is how long a reply to a key is shown, and noteDuration how long a note is.
	replyDuration = 4 * time.Second
	noteDuration  = 15 * time.Second
	// minTitle is the minimum width of a title, if there is any room.
	minTitle = 24
	// maxAgeWidth is the maximum width of an age.
	maxAgeWidth = len("9m59s")
)

func (s *statusLine) say(text string) { s.reply = reply{text, s.now()} }

// top returns the top line: title, counts and connection. cut shortens the title to a width.
func (s *statusLine) top(title string, cut func(string, int) string, counts string) string {
	rights := s.connection()
	if s.timeView != nil {
		rights = s.position()
	}
	for _, right := range rights {
		room := s.width - s.StringWidth(right) - s.StringWidth(counts) - 3
		if room >= min(s.StringWidth(title), minTitle) {
			return s.fit(s.paint(bold, " "+cut(title, room))+counts, s.width-s.StringWidth(right)) + right
		}
	}
	return s.sides(s.paint(bold, " "+title), s.width, rights[len(rights)-1])
}

// cutTitle shortens the title of the table. It first removes the word "namespace", then cuts the part before " in ".
func (c *canvas) cutTitle(title string, room int) string {
	if c.StringWidth(title) <= room {
		return title
	}
	for _, word := range []string{"namespace ", "namespaces "} {
		title = strings.Replace(title, " in "+word, " in ", 1)
	}
	i := strings.LastIndex(title, " in ")
	left := room - c.StringWidth(title[max(i, 0):])
	if i < 0 || left < minTitle/3 {
		return c.Truncate(title, room, ellipsis)
	}
	return c.Truncate(title[:i], left, ellipsis) + title[i:]
}

// counts returns the number of objects in a table, and how many of them are not ready.
func (s *statusLine) counts(t *table) string {
	objects, notReady, shown := t.total()
	line := "  " + text.Count(objects, "object")
	if t.filter.typed != "" {
		line = fmt.Sprintf("  %d of %s", shown, text.Count(objects, "object"))
	}
	line = s.paint(faint, line)
	if notReady > 0 {
		line += s.paint(faint, ", ") + s.paint(waiting, fmt.Sprintf("%d not ready", notReady))
	}
	return line
}

// connection returns the state of the connection and the age of the last event, in forms of decreasing length. Each form
// has a constant width as the age advances.
func (s *statusLine) connection() []string {
	now := s.now()
	phase, word, since := s.store.connection()
	last, short, room := "no event yet", "-", 0
	if !s.links.LastEvent.IsZero() {
		short = output.FormatAge(now, s.links.LastEvent)
		last, room = "last event "+short+" ago", maxAgeWidth-len(short)
	}
	look, sign := fine, "●"
	switch phase {
	case event.PhaseConnecting:
		look, sign = waiting, "◌"
	case event.PhaseLost, event.PhaseDenied:
		look, sign = broken, "✗"
		if since.IsZero() { // several clusters with different times
			break
		}
		lasts := output.FormatAge(now, since)
		word, room = word+" "+lasts, room+maxAgeWidth-len(lasts)
	}
	state, rest := s.paint(look, sign+" "+word), strings.Repeat(" ", max(room, 0)+1)
	return []string{
		state + s.paint(faint, " · "+last) + rest,
		state + s.paint(faint, " · "+short) + rest,
		s.paint(look, sign) + s.paint(faint, " "+short) + rest,
	}
}

// message returns the line above the keys: a reply, a note or about, followed by position if there is room.
func (s *statusLine) message(about, position string) string {
	text, isNews := s.news()
	if !isNews {
		text = s.paint(faint, about)
	}
	position = s.paint(faint, position)
	room := s.width - 2 - s.StringWidth(position) - gap
	if position == "" || room < minName || isNews && s.StringWidth(text) > room {
		return " " + s.Truncate(text, s.width-2, ellipsis)
	}
	return " " + s.fit(s.fit(text, room), room+gap) + position
}

// news returns the reply or note to show, if any. During an outage it is the note about its beginning.
func (s *statusLine) news() (string, bool) {
	now := s.now()
	if s.reply.text != "" && now.Sub(s.reply.at) < replyDuration {
		return s.paint(bold, s.reply.text), true
	}
	if s.timeView != nil {
		return s.unknown()
	}
	if len(s.notes) == 0 {
		return "", false
	}
	note := s.notes[len(s.notes)-1]
	phase, _, since := s.store.connection()
	isOutage := !since.IsZero() && (phase == event.PhaseLost || phase == event.PhaseDenied) && !note.at.Before(since.Add(-time.Second))
	if now.Sub(note.at) >= noteDuration && !isOutage {
		return "", false
	}
	return s.paint(alarm, "!") + " " + output.FormatClock(note.at, s.FullTimestamps) + " " + note.text, true
}
