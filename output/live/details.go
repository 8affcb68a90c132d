package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/watcher/object/kubeevent"
)

// called is what an object is called in a title.
func (m *model) called(s *section, r *row) string {
	name := s.resource.Resource + "/" + output.Line(r.name)
	if m.Namespaces && r.namespace != "" {
		name = output.Line(r.namespace) + " " + name
	}
	return name
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
	found []kubeevent.Event
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
		if h.IsWarning() {
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
