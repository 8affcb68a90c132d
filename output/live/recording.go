package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// Past is a part of a recording.
type Recording struct {
	// At is the time that is shown first; zero: the last that is known.
	InitialTime time.Time
}

// past is which time is shown in place of the present, under the lock of the store.
type past struct {
	at    time.Time
	isEnd bool      // the end is to be shown, once that is known
	read  time.Time // so far
	rests *rests    // nil: all has not been read yet
}

// rests is on what it rests that is shown.
type rests struct {
	from, to time.Time
	unknown  func(time.Time) string
}

// Read says that all has been delivered of the past from one time to another, and which time of it stands for the
// end, where that is to be shown; unknown says why it is not known what was there at one of these, or later, empty: it is.
func (s *Screen) SetLoaded(from, end, to time.Time, unknown func(time.Time) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past.isEnd {
		s.past.at = end
	}
	if s.past.read.After(to) { // what was seen may be looked at
		to = s.past.read
	}
	s.past.rests, s.past.read, s.past.isEnd = &rests{from, to, unknown}, to, false
	s.touch()
}

// takePast takes over that the inventory has come further.
func (s *store) takePast(changes []inventory.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		e := changes[i].Event
		if s.past.read = e.Time; !e.Type.IsStatus() {
			s.events++
		}
	}
	if s.past.isEnd {
		s.past.at = s.past.read
	}
	s.touch()
}

// whyUnknown says why it is not known what was there; empty: it is, or that is to be read yet.
func (s *store) whyUnknown() string {
	switch p := s.past; {
	case p.rests == nil:
		return ""
	case s.inventory.RetainedSince().After(p.at):
		return "more happened since than memory is taken for: read less of it by --since and --before"
	default:
		return p.rests.unknown(p.at)
	}
}

// isLater reports whether a time is after the one that is shown.
func (p *past) isLater(t time.Time) bool { return p != nil && t.After(p.at) }

// cut leaves out of a history what had not happened yet.
func (p *past) cut(h inventory.History) inventory.History {
	if p != nil {
		h.States = slices.DeleteFunc(h.States, func(s *inventory.State) bool { return p.isLater(s.Time) })
	}
	return h
}

// tableAt is the table as it was at a time, with what had just happened.
func (s *store) tableAt(at time.Time, like *table) *table {
	t := newTable(func(*inventory.Entry) {}, s.histories)
	t.order, t.filter = like.order, like.filter
	for _, one := range like.sections {
		t.section(one.resource)
	}
	for _, step := range s.inventory.ReplayWindow(at, linger) {
		e := step.State.ToEvent(step.Before)
		t.apply(&inventory.Change{Event: &e, State: step.State, Before: step.Before}, step.State.Cells())
		if r := t.section(step.State.Entry.Resource).rows[name{step.State.Entry.Cluster, step.State.Entry.Namespace, step.State.Entry.Name}]; r != nil && step.Before == nil && e.Type == event.Modified {
			r.sign, r.added = '~', time.Time{} // it is not its first state
		}
	}
	t.grow(at)
	return t
}

// rewind goes back and forth in the past.
type rewind struct {
	*view
	status  *statusLine
	details *details
	drawn   time.Time // up to when the past had been read, then
	isWhole bool      // all of it had
}

// show shows the table as it was.
func (r *rewind) show() {
	r.drawn, r.isWhole = r.past.read, r.past.rests != nil
	r.paused = &pause{table: r.tableAt(r.past.at, r.shown()), at: r.past.at}
}

// wait shows what has been read meanwhile, not more often than once a second while more is to come,
// and reports whether that is something else.
func (r *rewind) wait(soon bool) bool {
	if r == nil || r.drawn.Equal(r.past.read) && r.isWhole || soon && r.past.rests == nil && !r.drawn.IsZero() {
		return false
	}
	r.show()
	return true
}

// press reports whether a key goes to another time.
func (r *rewind) press(key string) bool {
	if r == nil {
		return false
	}
	counts := func(s inventory.Transition) bool { return s.IsSignificant(r.Compare) }
	switch key {
	case "right":
		r.step(1, "nothing changed after that", counts)
	case "left":
		r.step(-1, "nothing changed before that", counts)
	case "f":
		r.step(1, "nothing failed after that", inventory.Transition.BecameFailed)
	case "F":
		r.step(-1, "nothing failed before that", inventory.Transition.BecameFailed)
	case "]":
		r.pass(time.Minute)
	case "[":
		r.pass(-time.Minute)
	case "p": // it holds the present
		r.status.say("it is the past: ← → go on by a change, [ ] by a minute")
	default:
		return false
	}
	return true
}

// pass goes on by so much time, or as far as there is some.
func (r *rewind) pass(by time.Duration) {
	if r.isReading() {
		return
	}
	to := r.past.at.Add(by)
	switch from := r.first(); {
	case to.Before(from):
		to = from
		r.status.say("that is the begin of what was read; --since reads from another time on")
	case to.After(r.past.rests.to):
		to = r.past.rests.to
		r.status.say("that is the end of what was read; --before reads up to another time")
	}
	r.past.at = to
	r.show()
}

// first is the first time that can be shown.
func (r *rewind) first() time.Time {
	from := r.past.rests.from
	if held := r.inventory.RetainedSince(); held.After(from) {
		return held
	}
	return from
}

func (r *rewind) isReading() bool {
	if r.past.rests == nil {
		r.status.say("the recording is still being read")
	}
	return r.past.rests == nil
}

// step goes to the next change that is looked for, or back to the last, and selects its object.
func (r *rewind) step(by int, none string, is func(inventory.Transition) bool) {
	if r.isReading() {
		return
	}
	steps := r.inventory.Transitions(r.past.at, r.past.rests.to)
	if by < 0 {
		steps = r.inventory.Transitions(r.first(), r.past.at.Add(-1))
		slices.Reverse(steps)
	}
	n := slices.IndexFunc(steps, is)
	if n < 0 {
		r.status.say(none + ", in what was read")
		return
	}
	one := steps[n].State
	r.past.at = one.Time
	r.show()
	r.cursor = cursor{resource: one.Entry.Resource, object: name{one.Entry.Cluster, one.Entry.Namespace, one.Entry.Name}, holds: true, row: r.row, line: r.line}
	r.status.say(r.inShort(steps[n]))
}

// inShort is what changed, in one line.
func (r *rewind) inShort(s inventory.Transition) string {
	t := &trail{details: r.details, width: 10 * r.width}
	lines := strings.Split(strings.TrimSpace(t.show(step{s.Before, s.State}).text), "\n")
	if more := len(lines) - 1; more > 0 {
		return fmt.Sprintf("%s  (and %s)", lines[0], counted(more, "line"))
	}
	return lines[0]
}

func (r *rewind) keys(left string) string {
	return r.keysBehind(left, []string{"←→ change", "[] minute", "fF failure", "↵ changes", "d yaml", "/ filter", "s sort", "? help", "q quit"})
}

// position says which time is shown and whether it is known, at length and shorter.
func (s *statusLine) position() []string {
	look, sign, word := fine, "●", "known"
	switch p := s.past; {
	case p.rests == nil:
		look, sign, word = waiting, "◌", "reading"
		if !p.read.IsZero() {
			word = "read to " + output.FormatClock(p.read, s.FullTimestamps)
		}
	case s.whyUnknown() != "":
		look, sign, word = broken, "✗", "not known"
	}
	at := ""
	if !s.past.at.IsZero() {
		at = output.FormatTimeMillis(s.past.at, s.now(), s.FullTimestamps) + " "
	}
	return []string{
		s.paint(look, sign+" ") + s.paint(bold, at) + s.paint(look, word) + " ",
		s.paint(look, sign+" "+at+word) + " ",
	}
}

// unknown says why what is shown is not known; false: it is.
func (s *statusLine) unknown() (string, bool) {
	if why := s.whyUnknown(); why != "" {
		return s.paint(alarm, "!") + " " + output.EscapeLine(why), true
	}
	return "", false
}
