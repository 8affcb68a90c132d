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

// trail is how an object came to be what it is. It keeps what it has made: comparing takes time.
type trail struct {
	*details
	width int
	made  map[step]shownStep
}

// step is a state and the one before it, which may be nil.
type step struct{ from, to *inventory.State }

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
	if first := all[0].States[0]; first.Initial {
		t.say(&out, "%s it was there", first.Time.Local().Format(time.TimeOnly))
	}
	t.write(&out, all, before)
	hidden := 0
	for _, one := range t.made {
		hidden += one.hidden
	}
	if hidden > 0 {
		t.say(&out, "%s of nothing but noise not shown", counted(hidden, "change"))
	}
	if len(t.made) == 1 {
		t.say(&out, "nothing has changed since")
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// write writes all steps, as it did before if it did.
func (t *trail) write(out *bytes.Buffer, all []inventory.History, before map[step]shownStep) {
	between, start := t.view(out), all[0].States[0].Time
	notes := slices.DeleteFunc(slices.Clone(t.notes), func(n note) bool { return n.at.Before(start) })
	var last *inventory.State
	for _, h := range all {
		for i, state := range h.States {
			for ; len(notes) > 0 && !notes[0].at.After(state.Time); notes = notes[1:] {
				between.Note(notes[0].at, notes[0].text)
			}
			if i > 0 && state.Missing(h.States[i-1]) > 0 {
				t.say(out, "%s %d states in between are not kept any more", ellipsis, state.Missing(h.States[i-1]))
			}
			s := step{last, state}
			shown, is := before[s]
			if !is {
				shown = t.show(s)
			}
			t.made[s], last = shown, state
			out.WriteString(shown.text)
		}
	}
	for _, n := range notes {
		between.Note(n.at, n.text)
	}
}

func (t *trail) say(out *bytes.Buffer, format string, a ...any) {
	fmt.Fprintln(out, t.paint(faint, fmt.Sprintf(format, a...)))
}

func (t *trail) view(out *bytes.Buffer) *changes.View {
	o := t.Options.Options
	o.Width, o.Initial, o.Namespaces = func() int { return max(t.width, changes.MinWidth) }, true, false
	return changes.New(out, o)
}

func (t *trail) show(s step) shownStep {
	var out bytes.Buffer
	v := t.view(&out)
	switch {
	case s.from == nil && s.to.Initial:
		return shownStep{}
	case s.from != nil && s.from.Type == event.Deleted: // for what came back
		t.deliver(v, &out, s.from.Event(nil))
		out.Reset()
	}
	t.deliver(v, &out, s.to.Event(s.from))
	return shownStep{out.String(), v.Hidden()}
}

func (t *trail) deliver(v *changes.View, out *bytes.Buffer, e event.Event) {
	if err := v.Deliver(t.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.Line(err.Error()))
	}
}
