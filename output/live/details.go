package live

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/output/view"
	"dwatch/watcher/event"
)

// called is what an object is called in a title.
func (m *model) called(s *section, r *row) string {
	name := s.resource.Resource + "/" + output.Line(r.name)
	if m.Namespaces && r.namespace != "" {
		name = output.Line(r.namespace) + " " + name
	}
	return name
}

// changes shows what changed of an object since the start, as the format "changes" does.
func (m *model) changes(s *section, r *row) *pager {
	p := &pager{title: "changes of " + m.called(s, r), section: s, row: r, follows: true}
	p.text = func(width int) []string { return m.changeLines(r, width) }
	p.version = func() any {
		if r.states == nil { // it is forgotten: what is shown stays
			return p.made
		}
		return [3]int{len(r.states), r.missing, len(m.notes)}
	}
	return p
}

// changeLines are the changes of an object, with the notes that came in between.
func (m *model) changeLines(r *row, width int) []string {
	if len(r.states) == 0 {
		return []string{m.paint(faint, "it is gone, and what it was is not kept")}
	}
	var out bytes.Buffer
	v := view.New(&out, view.Options{
		Width: func() int { return max(width, view.MinWidth) }, Color: m.Color, Initial: true, Timestamps: m.Timestamps, Full: m.Full,
		Compare: m.Compare, ShortName: m.ShortName,
	})
	first, notes := r.states[0], m.notes
	for len(notes) > 0 && notes[0].at.Before(first.at) {
		notes = notes[1:]
	}
	if first.initial {
		fmt.Fprintln(&out, m.paint(faint, first.at.Local().Format(time.TimeOnly)+" it was there"))
	}
	for i, s := range r.states {
		for len(notes) > 0 && !notes[0].at.After(s.at) {
			v.Note(notes[0].at, notes[0].text)
			notes = notes[1:]
		}
		if i == 1 && r.missing > 0 {
			fmt.Fprintln(&out, m.paint(faint, fmt.Sprintf("%s %d states in between are not kept any more", ellipsis, r.missing)))
		}
		if i == 0 && s.initial {
			continue
		}
		e := event.Event{Type: s.kind, Target: s.target, Object: s.object, Time: s.at, Listed: s.listed, FinalStateUnknown: s.unknown}
		if i > 0 && s.kind == event.Modified {
			e.Old = r.states[i-1].object
		}
		if err := v.Deliver(m.ctx, []event.Event{e}); err != nil {
			fmt.Fprintln(&out, output.Line(err.Error()))
		}
	}
	for _, n := range notes {
		v.Note(n.at, n.text)
	}
	if n := v.Hidden(); n > 0 {
		fmt.Fprintln(&out, m.paint(faint, counted(n, "change")+" of nothing but noise not shown"))
	}
	if len(r.states) == 1 {
		fmt.Fprintln(&out, m.paint(faint, "nothing has changed since"))
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// yaml shows an object.
func (m *model) yaml(s *section, r *row) *pager {
	return &pager{
		title: "YAML of " + m.called(s, r), section: s, row: r,
		version: func() any { return r.object.ResourceVersion },
		text: func(int) []string {
			o := output.Options{Masks: m.Compare.Masks, Unmanaged: !m.ManagedFields}
			text, err := o.YAML(r.object)
			if err != nil {
				return []string{output.Line(err.Error())}
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for i, line := range lines {
				lines[i] = m.yamlLine(output.Line(line))
			}
			return lines
		},
	}
}

// yamlLine shows the name of a member in another style.
func (m *model) yamlLine(line string) string {
	content := strings.TrimLeft(line, " -")
	name, rest, ok := strings.Cut(content, ":")
	if !ok || strings.ContainsAny(name, ` "'`) || rest != "" && rest[0] != ' ' {
		return line
	}
	return line[:len(line)-len(content)] + m.paint(heading, name) + ":" + rest
}

// eventsMsg has the Events about an object.
type eventsMsg struct {
	pager *pager
	found []Happening
	err   error
	at    time.Time
}

// eventsTimeout is how long the server has for them.
const eventsTimeout = 10 * time.Second

// askEvents shows the Events about an object, once the server has said them.
func (m *model) askEvents(s *section, r *row) tea.Cmd {
	p := &pager{title: "events about " + m.called(s, r), section: s, row: r}
	m.pager = p
	if m.Events == nil {
		p.text = func(int) []string { return []string{"there is no way to ask for them"} }
		return nil
	}
	p.text = func(int) []string { return []string{m.paint(faint, "asking the server")} }
	ask, object, ctx := m.Events, r.object, m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, eventsTimeout)
		defer cancel()
		found, err := ask(ctx, object)
		return eventsMsg{p, found, err, time.Now()}
	}
}

// eventLines are Events for people.
func (m *model) eventLines(msg eventsMsg, width int) []string {
	switch {
	case msg.err != nil:
		return m.wrapped(output.Line(msg.err.Error()), width)
	case len(msg.found) == 0:
		return []string{m.paint(faint, "there are no events about it (the server forgets them, mostly after an hour)")}
	}
	var lines []string
	for _, h := range msg.found {
		look, head := normal, h.Reason
		if h.Warning {
			look, head = waiting, "Warning "+head
		}
		if h.Count > 1 {
			head = fmt.Sprintf("×%d %s", h.Count, head)
		}
		when := m.paint(faint, m.fit(ago(msg.at, h.Last)+" ago", len("364d ago")))
		lines = append(lines, m.sides(when+"  "+m.paint(look, output.Line(head)), width, m.paint(faint, output.Line(h.By)), ""))
		text := output.Line(strings.Join(strings.Fields(h.Message), " "))
		for _, line := range m.wrapped(text, width-10) {
			lines = append(lines, strings.Repeat(" ", 10)+line)
		}
	}
	return lines
}

// log shows what was said about the watch.
func (m *model) log() *pager {
	return &pager{
		title: "what was said about the watch", follows: true, version: func() any { return len(m.notes) },
		text: func(width int) []string {
			if len(m.notes) == 0 {
				return []string{m.paint(faint, "nothing")}
			}
			var lines []string
			for _, n := range m.notes {
				for i, line := range m.wrapped(n.text, width-len("15:04:05 ")) {
					head := strings.Repeat(" ", len("15:04:05 "))
					if i == 0 {
						head = m.paint(faint, n.at.Local().Format(time.TimeOnly)+" ")
					}
					lines = append(lines, head+line)
				}
			}
			return lines
		},
	}
}
