package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

// Recording configures a Screen that shows a part of a recording.
type Recording struct {
	// InitialTime is the time that is shown first. Zero means the last known time.
	InitialTime time.Time
}

// timeView is the shown time of a recording. It is guarded by store.mu.
type timeView struct {
	at     time.Time
	isEnd  bool         // show the end as soon as it is known
	read   time.Time    // how far the recording has been read
	loaded *loadedRange // nil until everything has been read
}

// loadedRange is the range that was read, and its coverage.
type loadedRange struct {
	from, to time.Time
	unknown  func(time.Time) string
}

// SetLoaded tells the screen that all events between from and to have been delivered. end is the time to show if the screen
// starts at the end. unknown returns the reason why the state at a time is not known, or "" if it is known.
func (s *Screen) SetLoaded(from, end, to time.Time, unknown func(time.Time) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timeView.isEnd {
		s.timeView.at = end
	}
	if s.timeView.read.After(to) { // all delivered events can be shown
		to = s.timeView.read
	}
	s.timeView.loaded, s.timeView.read, s.timeView.isEnd = &loadedRange{from, to, unknown}, to, false
	s.touch()
}

// takeRecorded notes how far the recording has been read, and counts its events.
func (s *store) takeRecorded(changes []inventory.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		e := changes[i].Event
		if s.timeView.read = e.Time; !e.Type.IsStatus() {
			s.events++
		}
	}
	if s.timeView.isEnd {
		s.timeView.at = s.timeView.read
	}
	s.touch()
}

// whyUnknown returns the reason why the state at the shown time is not known. It returns "" if the state is known, or while the
// recording is being read.
func (s *store) whyUnknown() string {
	switch p := s.timeView; {
	case p.loaded == nil:
		return ""
	case s.inventory.RetainedSince().After(p.at):
		return "the history exceeds the memory limit: load a shorter period with --since and --before"
	default:
		return p.loaded.unknown(p.at)
	}
}

// isLater reports whether a time is after the shown one. It returns false if p is nil.
func (p *timeView) isLater(t time.Time) bool { return p != nil && t.After(p.at) }

// withoutLater removes states after the shown time from a history.
func (p *timeView) withoutLater(h inventory.History) inventory.History {
	if p != nil {
		h.States = slices.DeleteFunc(h.States, func(s *inventory.State) bool { return p.isLater(s.Time) })
	}
	return h
}

// tableAt returns the table at a time, with highlights of the latest changes, and with the order and filter of like.
func (s *store) tableAt(at time.Time, like *table) *table {
	t := newTable(func(*inventory.Entry) {}, s.histories)
	t.order, t.filter = like.order, like.filter
	for _, one := range like.sections {
		t.section(one.resource)
	}
	s.inventory.Refresh(at)
	for _, step := range s.inventory.ReplayWindow(at, deletedFor) {
		e := step.State.ToEvent(step.Before)
		step.State = s.inventory.WithOwned(step.State, at)
		t.apply(&inventory.Change{Event: &e, State: step.State, Before: step.Before}, step.State.Cells())
		if r := t.section(step.State.Entry.Resource).rows[name{step.State.Entry.Cluster, step.State.Entry.Namespace, step.State.Entry.Name}]; r != nil && step.Before == nil && e.Type == event.Modified {
			r.sign, r.added = '~', time.Time{} // not its first state
		}
	}
	t.age(at)
	return t
}

// timeControl moves the shown time of a recording. It embeds the view because another time changes all that the view shows.
type timeControl struct {
	*view
	status        *statusLine
	details       *details
	shownUntil    time.Time // how far the recording had been read
	shownComplete bool      // whether it had been read completely
}

// show shows the table at the current time of the view.
func (r *timeControl) show() {
	r.shownUntil, r.shownComplete = r.timeView.read, r.timeView.loaded != nil
	r.paused = &pause{table: r.tableAt(r.timeView.at, r.shown()), at: r.timeView.at}
}

// refresh shows the events that have been read since the last call, and reports whether there are any. If soon is true, the call
// does nothing while the recording is still being read, so that the table is drawn only once a second.
func (r *timeControl) refresh(soon bool) bool {
	if r == nil || r.shownUntil.Equal(r.timeView.read) && r.shownComplete || soon && r.timeView.loaded == nil && !r.shownUntil.IsZero() {
		return false
	}
	r.show()
	return true
}

// press handles the keys that change the shown time, and reports whether key is one of them.
func (r *timeControl) press(key string) bool {
	if r == nil {
		return false
	}
	counts := func(s inventory.Transition) bool { return s.IsSignificant(r.Compare) }
	switch key {
	case "right":
		r.step(1, "no later change", counts)
	case "left":
		r.step(-1, "no earlier change", counts)
	case "f":
		r.step(1, "no later failure", inventory.Transition.BecameFailed)
	case "F":
		r.step(-1, "no earlier failure", inventory.Transition.BecameFailed)
	case "]":
		r.moveBy(time.Minute)
	case "[":
		r.moveBy(-time.Minute)
	case "p": // pauses a live table
		r.status.say("this is a recording: ← → move by a change, [ ] by a minute")
	default:
		return false
	}
	return true
}

// moveBy moves the time by a duration, within the loaded range.
func (r *timeControl) moveBy(by time.Duration) {
	if r.isReading() {
		return
	}
	to := r.timeView.at.Add(by)
	switch from := r.earliest(); {
	case to.Before(from):
		to = from
		r.status.say("beginning of the loaded period; --since sets another one")
	case to.After(r.timeView.loaded.to):
		to = r.timeView.loaded.to
		r.status.say("end of the loaded period; --before sets another one")
	}
	r.timeView.at = to
	r.show()
}

// earliest returns the earliest time that can be shown.
func (r *timeControl) earliest() time.Time {
	from := r.timeView.loaded.from
	if held := r.inventory.RetainedSince(); held.After(from) {
		return held
	}
	return from
}

func (r *timeControl) isReading() bool {
	if r.timeView.loaded == nil {
		r.status.say("the recording is still being read")
	}
	return r.timeView.loaded == nil
}

// step moves to the next matching change, or to the previous one if by is negative, and selects its object.
func (r *timeControl) step(by int, none string, is func(inventory.Transition) bool) {
	if r.isReading() {
		return
	}
	steps := r.inventory.Transitions(r.timeView.at, r.timeView.loaded.to)
	if by < 0 {
		steps = r.inventory.Transitions(r.earliest(), r.timeView.at.Add(-1))
		slices.Reverse(steps)
	}
	n := slices.IndexFunc(steps, is)
	if n < 0 {
		r.status.say(none + " in the loaded period")
		return
	}
	one := steps[n].State
	r.timeView.at = one.Time
	r.show()
	r.cursor = cursor{resource: one.Entry.Resource, object: name{one.Entry.Cluster, one.Entry.Namespace, one.Entry.Name}, chosen: true, row: r.row, line: r.line}
	r.status.say(r.summarize(steps[n]))
}

// summarize describes a change on one line.
func (r *timeControl) summarize(s inventory.Transition) string {
	t := &changeLog{details: r.details, width: 10 * r.width}
	lines := strings.Split(strings.TrimSpace(t.render(step{s.Before, s.State}).text), "\n")
	if more := len(lines) - 1; more > 0 {
		return fmt.Sprintf("%s  (and %s)", lines[0], text.Count(more, "line"))
	}
	return lines[0]
}

func (r *timeControl) keys(left string) string {
	return r.keysBehind(left, []string{"←→ change", "[] minute", "fF failure", "↵ changes", "d yaml", "/ filter", "s sort", "? help", "q quit"})
}

// position returns the shown time and whether the state at that time is known, in a long and a short form.
func (s *statusLine) position() []string {
	look, sign, word := fine, "●", "known"
	switch p := s.timeView; {
	case p.loaded == nil:
		look, sign, word = waiting, "◌", "reading"
		if !p.read.IsZero() {
			word = "read to " + output.FormatClock(p.read, s.FullTimestamps)
		}
	case s.whyUnknown() != "":
		look, sign, word = broken, "✗", "not known"
	}
	at := ""
	if !s.timeView.at.IsZero() {
		at = output.FormatTimeMillis(s.timeView.at, s.now(), s.FullTimestamps) + " "
	}
	return []string{
		s.paint(look, sign+" ") + s.paint(bold, at) + s.paint(look, word) + " ",
		s.paint(look, sign+" "+at+word) + " ",
	}
}

// unknown returns a message with the reason why the shown state is not known. It returns false if the state is known.
func (s *statusLine) unknown() (string, bool) {
	if why := s.whyUnknown(); why != "" {
		return s.paint(alarm, "!") + " " + output.EscapeLine(why), true
	}
	return "", false
}
