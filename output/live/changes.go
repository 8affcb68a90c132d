package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// trail is how an object came to be what it is. It keeps what it has made: comparing takes time.
type trail struct {
	*details
	who   []string // whose changes alone are shown; none: all are
	width int
	made  map[step]shownStep
}

// step is a state and the one before it, which may be nil.
type step struct{ from, to *inventory.State }

type shownStep struct {
	text   string
	hidden int   // changes of nothing but noise
	by     maker // it is shown if they did it
}

// maker is who made a step, as far as that matters.
type maker int

const (
	they   maker = iota // those whose changes are to be shown, or it is to be shown anyway
	others              // only others
	nobody              // none that is known
)

// changes shows what changed of an object since the start, as the format "changes" does; of programs with these in
// their names, if there are any.
func (d *details) changes(s *section, r *row, who []string) *pager {
	p, of := d.about("changes of", s, r), &trail{details: d, who: who}
	if len(who) > 0 {
		p.title = "what " + strings.Join(who, " and ") + " changed of" + strings.TrimPrefix(p.title, "changes of")
	}
	p.follows = true
	p.text = func(width int) []string { return of.lines(r, width) }
	p.version = func() any {
		version := [3]int{len(d.notes)}
		for _, h := range d.histories(r) {
			version[1] += len(h.States)
			version[2] += h.Evicted
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
		t.say(&out, "%s it was there", output.FormatClock(first.Time, t.FullTimestamps))
	}
	t.write(&out, all, before)
	hidden, left := 0, [...]int{others: 0, nobody: 0}
	for _, one := range t.made {
		hidden += one.hidden
		left[one.by]++
	}
	for by, who := range []string{others: "others", nobody: "nobody known"} {
		if n := left[by]; n > 0 && who != "" {
			t.say(&out, "%s by %s not shown (/%s)", counted(n, "change"), who, whoWord+strings.Join(t.who, " "+whoWord))
		}
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
	notes := slices.DeleteFunc(slices.Clone(t.notes), func(n note) bool { return n.at.Before(start) || t.past.isLater(n.at) })
	var last *inventory.State
	for _, h := range all {
		for i, state := range h.States {
			for ; len(notes) > 0 && !notes[0].at.After(state.Time); notes = notes[1:] {
				between.Note(notes[0].at, notes[0].text)
			}
			if i > 0 && state.EvictedSince(h.States[i-1]) > 0 {
				t.say(out, "%s %d states in between are not kept any more%s", ellipsis, state.EvictedSince(h.States[i-1]), t.again(state))
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

// again says how often it has been as a state says, if that is known.
func (t *trail) again(s *inventory.State) string {
	if s.Repeat.Times < 2 {
		return ""
	}
	return fmt.Sprintf("; what follows was so %d times since %s", s.Repeat.Times, output.FormatClock(s.Repeat.First, t.FullTimestamps))
}

func (t *trail) say(out *bytes.Buffer, format string, a ...any) {
	fmt.Fprintln(out, t.paint(faint, fmt.Sprintf(format, a...)))
}

func (t *trail) view(out *bytes.Buffer) *changes.View {
	o := t.Options.Options
	o.Width, o.ShowInitial, o.ShowNamespaces = func() int { return max(t.width, changes.MinWidth) }, true, false
	return changes.New(out, o)
}

func (t *trail) show(s step) shownStep {
	var out bytes.Buffer
	v := t.view(&out)
	switch {
	case s.from == nil && s.to.Initial:
		return shownStep{}
	case t.by(s) != they:
		return shownStep{by: t.by(s)}
	case s.from != nil && s.from.Type == event.Deleted: // for what came back
		t.deliver(v, &out, s.from.ToEvent(nil))
		out.Reset()
	}
	t.deliver(v, &out, s.to.ToEvent(s.from))
	return shownStep{text: out.String(), hidden: v.Hidden()}
}

// by says who made a step. Who deleted an object is not known, and that it was deleted is shown.
func (t *trail) by(s step) maker {
	if len(t.who) == 0 || s.to.Type == event.Deleted {
		return they
	}
	names := s.to.Managers
	if s.from != nil && s.from.Type != event.Deleted {
		all := inventory.DiffStates(s.from, s.to, t.Compare).Changes
		if len(all) == 0 { // but noise, which is counted
			return they
		}
		names = nil
		for _, c := range all {
			names = append(names, c.Writer.Manager)
		}
	}
	isTheirs := func(name string) bool {
		return slices.ContainsFunc(t.who, func(who string) bool { return strings.Contains(strings.ToLower(name), who) })
	}
	switch {
	case slices.ContainsFunc(names, isTheirs):
		return they
	case len(names) == 0, slices.Contains(names, ""):
		return nobody
	}
	return others
}

func (t *trail) deliver(v *changes.View, out *bytes.Buffer, e event.Event) {
	if err := v.Deliver(t.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.EscapeLine(err.Error()))
	}
}
