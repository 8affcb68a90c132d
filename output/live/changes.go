package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/output/inventory"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

// changeLog shows the history of an object. It caches rendered steps, because comparing states takes time.
type changeLog struct {
	*details
	who      []string // parts of names of managers whose changes are shown; empty means all
	width    int
	rendered map[step]renderedStep
}

// step is a state and the previous one, which may be nil.
type step struct{ from, to *inventory.State }

type renderedStep struct {
	text   string
	hidden int        // number of changes that are only noise
	by     authorship // shown if matching
}

// authorship tells whether a step was made by the requested managers.
type authorship int

const (
	matching authorship = iota // by a requested manager, or shown for another reason
	others                     // only by other managers
	nobody                     // by no known manager
)

// changes shows the changes of an object since the start in the format of -o changes. If who is not empty, it only shows
// changes by managers whose names contain an element of who.
func (d *details) changes(s *section, r *row, who []string) *pager {
	p, of := d.newPager("changes of", s, r), &changeLog{details: d, who: who}
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
		if version[1] == 0 { // no longer retained: keep the shown text
			return p.shownVersion
		}
		return version
	}
	return p
}

// lines returns the changes of an object and the notes in between.
func (t *changeLog) lines(r *row, width int) []string {
	all := t.histories(r)
	if len(all) == 0 {
		return []string{t.paint(faint, "deleted; its history is no longer retained")}
	}
	before := t.rendered
	if width != t.width {
		before = nil
	}
	t.width, t.rendered = width, map[step]renderedStep{}
	var out bytes.Buffer
	if first := all[0].States[0]; first.Initial {
		t.addLine(&out, "%s existed at start", output.FormatClock(first.Time, t.FullTimestamps))
	}
	t.write(&out, all, before)
	hidden, left := 0, [...]int{others: 0, nobody: 0}
	for _, one := range t.rendered {
		hidden += one.hidden
		left[one.by]++
	}
	for by, who := range []string{others: "other managers", nobody: "unknown managers"} {
		if n := left[by]; n > 0 && who != "" {
			t.addLine(&out, "%s by %s not shown (/%s)", text.Count(n, "change"), who, managerPrefix+strings.Join(t.who, " "+managerPrefix))
		}
	}
	if hidden > 0 {
		t.addLine(&out, "%s not shown (only noise)", text.Count(hidden, "change"))
	}
	if len(t.rendered) == 1 {
		t.addLine(&out, "no changes since")
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// write writes all steps and notes. It reuses rendered steps from before, which may be nil.
func (t *changeLog) write(out *bytes.Buffer, all []inventory.History, before map[step]renderedStep) {
	between, start := t.view(out), all[0].States[0].Time
	notes := slices.DeleteFunc(slices.Clone(t.notes), func(n note) bool { return n.at.Before(start) || t.timeView.isLater(n.at) })
	var last *inventory.State
	for _, h := range all {
		for i, state := range h.States {
			for ; len(notes) > 0 && !notes[0].at.After(state.Time); notes = notes[1:] {
				between.Note(notes[0].at, notes[0].text)
			}
			if i > 0 && state.EvictedSince(h.States[i-1]) > 0 {
				t.addLine(out, "%s %d states in between are no longer retained%s", ellipsis, state.EvictedSince(h.States[i-1]), t.repeatNote(state))
			}
			s := step{last, state}
			shown, is := before[s]
			if !is {
				shown = t.render(s)
			}
			t.rendered[s], last = shown, state
			out.WriteString(shown.text)
		}
	}
	for _, n := range notes {
		between.Note(n.at, n.text)
	}
}

// repeatNote returns a note about repetitions of a change, or "".
func (t *changeLog) repeatNote(s *inventory.State) string {
	if s.Repeat.Times < 2 {
		return ""
	}
	return fmt.Sprintf("; the next change occurred %d times since %s", s.Repeat.Times, output.FormatClock(s.Repeat.First, t.FullTimestamps))
}

func (t *changeLog) addLine(out *bytes.Buffer, format string, a ...any) {
	fmt.Fprintln(out, t.paint(faint, fmt.Sprintf(format, a...)))
}

func (t *changeLog) view(out *bytes.Buffer) *changes.View {
	o := t.Options.Options
	o.Width, o.ShowInitial, o.ShowNamespaces = func() int { return max(t.width, changes.MinWidth) }, true, false
	return changes.New(out, o)
}

func (t *changeLog) render(s step) renderedStep {
	var out bytes.Buffer
	v := t.view(&out)
	switch {
	case s.from == nil && s.to.Initial:
		return renderedStep{}
	case t.madeBy(s) != matching:
		return renderedStep{by: t.madeBy(s)}
	case s.from != nil && s.from.Type == event.Deleted: // created again: the view must know that it was deleted
		t.deliver(v, &out, s.from.ToEvent(nil))
		out.Reset()
	}
	t.deliver(v, &out, s.to.ToEvent(s.from))
	return renderedStep{text: out.String(), hidden: v.Hidden()}
}

// madeBy returns the authorship of a step. Deletions are always shown, because their author is unknown.
func (t *changeLog) madeBy(s step) authorship {
	if len(t.who) == 0 || s.to.Type == event.Deleted {
		return matching
	}
	names := s.to.Managers
	if s.from != nil && s.from.Type != event.Deleted {
		all := inventory.DiffStates(s.from, s.to, t.Compare).Changes
		if len(all) == 0 { // only noise, which is counted
			return matching
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
		return matching
	case len(names) == 0, slices.Contains(names, ""):
		return nobody
	}
	return others
}

func (t *changeLog) deliver(v *changes.View, out *bytes.Buffer, e event.Event) {
	if err := v.Deliver(t.ctx, []event.Event{e}); err != nil {
		fmt.Fprintln(out, output.EscapeLine(err.Error()))
	}
}
