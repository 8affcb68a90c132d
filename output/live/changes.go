package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// trail is how an object came to be what it is, as the format "changes" shows it. What it
// has made of a state it keeps: to compare large objects takes time.
type trail struct {
	*details
	width int
	made  map[step]shownStep
}

// step is a state and the one before it, which may be nil.
type step struct{ from, to *inventory.State }

// shownStep is what is shown of a step.
type shownStep struct {
	text   string
	hidden int // changes of nothing but noise
}

// changes shows what changed of an object since the start, as the format "changes" does.
func (d *details) changes(s *section, r *row) *pager {
	p, of := d.about("changes of", s, r), &trail{details: d}
	p.follows = true
	p.text = func(width int) []string { return of.lines(r, width) }
	p.version = func() any {
		version := [3]int{len(d.notes)}
		for _, h := range d.histories(r) {
			version[1] += len(h.States)
			version[2] += h.Missing
		}
		if version[1] == 0 { // it is forgotten: what is shown stays
			return p.made
		}
		return version
	}
	return p
}

// lines are the changes of an object, with the notes that came in between.
func (t *trail) lines(r *row, width int) []string {
	all := t.histories(r)
	if len(all) == 0 {
		return []string{t.paint(faint, "it is gone, and what it was is not kept")}
	}
	before := t.made
	if width != t.width {
		before = nil
	}
	t.width, t.made = width, map[step]shownStep{}
	var out bytes.Buffer
	say := func(text string) { fmt.Fprintln(&out, t.paint(faint, text)) }
	first, last, hidden := all[0].States[0], (*inventory.State)(nil), 0
	between := t.view(&out)
	notes := slices.DeleteFunc(slices.Clone(t.notes), func(n note) bool { return n.at.Before(first.Time) })
	if first.Initial {
		say(first.Time.Local().Format(time.TimeOnly) + " it was there")
	}
	for _, h := range all {
		for i, state := range h.States {
			for ; len(notes) > 0 && !notes[0].at.After(state.Time); notes = notes[1:] {
				between.Note(notes[0].at, notes[0].text)
			}
			if i == 1 && h.Missing > 0 {
				say(fmt.Sprintf("%s %d states in between are not kept any more", ellipsis, h.Missing))
			}
			one := t.show(step{last, state}, before)
			out.WriteString(one.text)
			hidden += one.hidden
			last = state
		}
	}
	for _, n := range notes {
		between.Note(n.at, n.text)
	}
	if hidden > 0 {
		say(counted(hidden, "change") + " of nothing but noise not shown")
	}
	if last == first {
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

// show shows a step, as it did before if it did.
func (t *trail) show(s step, before map[step]shownStep) shownStep {
	if s.from == nil && s.to.Initial {
		return shownStep{}
	}
	shown, is := before[s]
	if !is {
		var out bytes.Buffer
		v := t.view(&out)
		if s.from != nil && s.from.Type == event.Deleted { // for what came back
			t.deliver(v, &out, s.from.Event(nil))
			out.Reset()
		}
		t.deliver(v, &out, s.to.Event(s.from))
		shown = shownStep{out.String(), v.Hidden()}
	}
	t.made[s] = shown
	return shown
}

func (t *trail) deliver(v *changes.View, out *bytes.Buffer, e event.Event) {
	if err := v.Deliver(t.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.Line(err.Error()))
	}
}
