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

// trail is what became of an object, as the format "changes" shows it. What it has made of
// a state it keeps: to compare large objects takes time.
type trail struct {
	*details
	width int
	made  map[stateID]shownState
}

// stateID is a state and the one before it.
type stateID struct {
	before, version string
	at              time.Time
	kind            event.Type
}

// shownState is what is shown of a state.
type shownState struct {
	text   string
	hidden int // changes of nothing but noise
}

// changes shows what changed of an object since the start, as the format "changes" does.
func (d *details) changes(s *section, r *row) *pager {
	p, of := d.about("changes of", s, r), &trail{details: d}
	p.follows = true
	p.text = func(width int) []string { return of.lines(r, width) }
	p.version = func() any {
		if r.states == nil { // it is forgotten: what is shown stays
			return p.made
		}
		return [3]int{len(r.states), r.missing, len(d.notes)}
	}
	return p
}

// lines are the changes of an object, with the notes that came in between.
func (t *trail) lines(r *row, width int) []string {
	if len(r.states) == 0 {
		return []string{t.paint(faint, "it is gone, and what it was is not kept")}
	}
	before := t.made
	if width != t.width {
		before = nil
	}
	t.width, t.made = width, map[stateID]shownState{}
	var out bytes.Buffer
	say := func(text string) { fmt.Fprintln(&out, t.paint(faint, text)) }
	between, notes, hidden := t.view(&out), t.notes, 0
	first := r.states[0]
	for len(notes) > 0 && notes[0].at.Before(first.at) {
		notes = notes[1:]
	}
	if first.initial {
		say(first.at.Local().Format(time.TimeOnly) + " it was there")
	}
	for i := range r.states {
		for len(notes) > 0 && !notes[0].at.After(r.states[i].at) {
			between.Note(notes[0].at, notes[0].text)
			notes = notes[1:]
		}
		if i == 1 && r.missing > 0 {
			say(fmt.Sprintf("%s %d states in between are not kept any more", ellipsis, r.missing))
		}
		one := t.show(r.states, i, before)
		out.WriteString(one.text)
		hidden += one.hidden
	}
	for _, n := range notes {
		between.Note(n.at, n.text)
	}
	if hidden > 0 {
		say(counted(hidden, "change") + " of nothing but noise not shown")
	}
	if len(r.states) == 1 {
		say("nothing has changed since")
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func (t *trail) view(out *bytes.Buffer) *changes.View {
	return changes.New(out, changes.Options{
		Width: func() int { return max(t.width, changes.MinWidth) }, Color: t.Color, Initial: true, Timestamps: t.Timestamps, Full: t.Full,
		Compare: t.Compare, ShortName: t.ShortName,
	})
}

// show shows a state, as it did before if it did.
func (t *trail) show(states []state, i int, before map[stateID]shownState) shownState {
	one := states[i]
	if i == 0 && one.initial {
		return shownState{}
	}
	id := stateID{version: one.object.ResourceVersion, at: one.at, kind: one.kind}
	if i > 0 {
		id.before = states[i-1].object.ResourceVersion
	}
	shown, is := before[id]
	if !is {
		var out bytes.Buffer
		v := t.view(&out)
		if i > 0 && states[i-1].kind == event.Deleted { // for what came back
			t.deliver(v, &out, states, i-1)
			out.Reset()
		}
		t.deliver(v, &out, states, i)
		shown = shownState{out.String(), v.Hidden()}
	}
	t.made[id] = shown
	return shown
}

func (t *trail) deliver(v *changes.View, out *bytes.Buffer, states []state, i int) {
	one := states[i]
	e := event.Event{Type: one.kind, Target: one.target, Object: one.object, Time: one.at, Listed: one.listed, FinalStateUnknown: one.unknown}
	if i > 0 && one.kind == event.Modified {
		e.Old = states[i-1].object
	}
	if err := v.Deliver(t.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.Line(err.Error()))
	}
}
