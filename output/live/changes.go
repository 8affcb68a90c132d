package live

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/watcher/event"
)

// story is what became of an object, as the format "changes" shows it. What it has made of
// a state it keeps: to compare large objects takes time.
type story struct {
	*model
	width int
	made  map[chapter]told
}

// chapter is a state and the one before it.
type chapter struct {
	before, version string
	at              time.Time
	kind            event.Type
}

// told is what is shown of a state.
type told struct {
	text   string
	hidden int // changes of nothing but noise
}

// changes shows what changed of an object since the start, as the format "changes" does.
func (m *model) changes(s *section, r *row) *pager {
	p := &pager{title: "changes of " + m.called(s, r), section: s, row: r, follows: true}
	of := &story{model: m}
	p.text = func(width int) []string { return of.lines(r, width) }
	p.version = func() any {
		if r.states == nil { // it is forgotten: what is shown stays
			return p.made
		}
		return [3]int{len(r.states), r.missing, len(m.notes)}
	}
	return p
}

// lines are the changes of an object, with the notes that came in between.
func (s *story) lines(r *row, width int) []string {
	if len(r.states) == 0 {
		return []string{s.paint(faint, "it is gone, and what it was is not kept")}
	}
	before := s.made
	if width != s.width {
		before = nil
	}
	s.width, s.made = width, map[chapter]told{}
	var out bytes.Buffer
	between := s.view(&out)
	first, notes, hidden := r.states[0], s.notes, 0
	for len(notes) > 0 && notes[0].at.Before(first.at) {
		notes = notes[1:]
	}
	if first.initial {
		fmt.Fprintln(&out, s.paint(faint, first.at.Local().Format(time.TimeOnly)+" it was there"))
	}
	for i := range r.states {
		for len(notes) > 0 && !notes[0].at.After(r.states[i].at) {
			between.Note(notes[0].at, notes[0].text)
			notes = notes[1:]
		}
		if i == 1 && r.missing > 0 {
			fmt.Fprintln(&out, s.paint(faint, fmt.Sprintf("%s %d states in between are not kept any more", ellipsis, r.missing)))
		}
		one := s.tell(r.states, i, before)
		out.WriteString(one.text)
		hidden += one.hidden
	}
	for _, n := range notes {
		between.Note(n.at, n.text)
	}
	if hidden > 0 {
		fmt.Fprintln(&out, s.paint(faint, counted(hidden, "change")+" of nothing but noise not shown"))
	}
	if len(r.states) == 1 {
		fmt.Fprintln(&out, s.paint(faint, "nothing has changed since"))
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func (s *story) view(out *bytes.Buffer) *changes.View {
	return changes.New(out, changes.Options{
		Width: func() int { return max(s.width, changes.MinWidth) }, Color: s.Color, Initial: true, Timestamps: s.Timestamps, Full: s.Full,
		Compare: s.Compare, ShortName: s.ShortName,
	})
}

// tell shows a state, as it did before if it did.
func (s *story) tell(states []state, i int, before map[chapter]told) told {
	one := states[i]
	if i == 0 && one.initial {
		return told{}
	}
	of := chapter{version: one.object.ResourceVersion, at: one.at, kind: one.kind}
	if i > 0 {
		of.before = states[i-1].object.ResourceVersion
	}
	shown, is := before[of]
	if !is {
		var out bytes.Buffer
		v := s.view(&out)
		if i > 0 && states[i-1].kind == event.Deleted { // for what came back
			s.deliver(v, &out, states, i-1)
			out.Reset()
		}
		s.deliver(v, &out, states, i)
		shown = told{out.String(), int(v.Hidden())}
	}
	s.made[of] = shown
	return shown
}

func (s *story) deliver(v *changes.View, out *bytes.Buffer, states []state, i int) {
	one := states[i]
	e := event.Event{Type: one.kind, Target: one.target, Object: one.object, Time: one.at, Listed: one.listed, FinalStateUnknown: one.unknown}
	if i > 0 && one.kind == event.Modified {
		e.Old = states[i-1].object
	}
	if err := v.Deliver(s.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.Line(err.Error()))
	}
}
