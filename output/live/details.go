package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// details creates the pagers about one object and about the watch.
type details struct {
	*canvas
	*store
	ctx context.Context
}

func (d *details) newPager(what string, s *section, r *row) *pager {
	name := s.resource.Resource + "/" + output.EscapeLine(r.Entry.Name)
	if d.ShowNamespaces && r.Entry.Namespace != "" {
		name = output.EscapeLine(r.Entry.Namespace) + " " + name
	}
	if r.Entry.Cluster != "" {
		name = output.EscapeLine(r.Entry.Cluster) + " " + name
	}
	return &pager{canvas: d.canvas, title: what + " " + name, section: s, row: r}
}

func (d *details) yaml(s *section, r *row) *pager {
	p := d.newPager("YAML of", s, r)
	p.version = func() any { return r.Object.ResourceVersion }
	p.text = func(int) []string {
		o := output.Options{Masks: d.Compare.Masks, OmitManagedFields: !d.ShowManagedFields}
		text, err := o.YAML(r.Object)
		if err != nil {
			return []string{output.EscapeLine(err.Error())}
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for i, line := range lines {
			lines[i] = d.yamlLine(output.EscapeLine(line))
		}
		return lines
	}
	return p
}

func (d *details) yamlLine(line string) string {
	content := strings.TrimLeft(line, " -")
	name, rest, ok := strings.Cut(content, ":")
	if !ok || strings.ContainsAny(name, ` "'`+"`") || rest != "" && rest[0] != ' ' {
		return line
	}
	return line[:len(line)-len(content)] + d.paint(heading, name) + ":" + rest
}

type eventsMsg struct {
	pager  *pager
	object event.Object
	found  []kubeevent.Event
	err    error
	at     time.Time
}

// eventsTimeout bounds the request for Events.
const eventsTimeout = 10 * time.Second

// events shows the Events about an object. The returned command fetches them from the server. It is nil for a recording, whose
// Events are shown at once.
func (d *details) events(s *section, r *row) (*pager, tea.Cmd) {
	p := d.newPager("events about", s, r)
	if d.timeView != nil {
		found, err := d.inventory.EventsFor(d.timeView.at, d.Targets, r.Entry.Cluster, r.Object)
		d.showEvents(eventsMsg{p, r.Object, found, err, d.timeView.at})
		return p, nil
	}
	p.text = func(int) []string { return []string{d.paint(faint, "fetching events")} }
	ask, cluster, object := d.FetchEvents, r.Entry.Cluster, r.Object
	return p, func() tea.Msg {
		ctx, cancel := context.WithTimeout(d.ctx, eventsTimeout)
		defer cancel()
		found, err := ask(ctx, cluster, object)
		return eventsMsg{p, object, found, err, time.Now()}
	}
}

func (d *details) showEvents(msg eventsMsg) {
	msg.pager.lines = nil
	msg.pager.text = func(width int) []string { return d.eventLines(msg, width) }
}

func (d *details) eventLines(msg eventsMsg, width int) []string {
	switch {
	case msg.err != nil:
		return d.wrapped(output.EscapeLine(msg.err.Error()), width)
	case len(msg.found) == 0:
		return []string{d.paint(faint, "no events about it or the objects it owns (the server usually deletes events after an hour)")}
	}
	const indent = 10
	var lines []string
	for _, h := range msg.found {
		look, head := normal, h.Reason
		if h.IsWarning() {
			look, head = waiting, "Warning "+head
		}
		if h.Count > 1 {
			head = fmt.Sprintf("×%d %s", h.Count, head)
		}
		if o := msg.object; h.InvolvedObject.Name != "" && (h.InvolvedObject.Kind != o.Kind || h.InvolvedObject.Name != o.Name) { // an owned object
			head += " " + h.InvolvedObjectName()
		}
		when := d.paint(faint, d.fit(output.FormatAge(msg.at, h.LastSeen)+" ago", len("364d ago")))
		lines = append(lines, d.sides(when+"  "+d.paint(look, output.EscapeLine(head)), width, d.paint(faint, output.EscapeLine(h.ReportingComponent)), ""))
		text := output.EscapeLine(strings.Join(strings.Fields(h.Message), " "))
		for _, line := range d.wrapped(text, width-indent) {
			lines = append(lines, strings.Repeat(" ", indent)+line)
		}
	}
	return lines
}

func (d *details) log() *pager {
	text := func(width int) []string {
		if len(d.notes) == 0 {
			return []string{d.paint(faint, "nothing")}
		}
		var lines []string
		for _, n := range d.notes {
			when := output.FormatClock(n.at, d.FullTimestamps) + " "
			head := d.paint(faint, when)
			for _, line := range d.wrapped(n.text, width-len(when)) {
				lines = append(lines, head+line)
				head = strings.Repeat(" ", len(when))
			}
		}
		return lines
	}
	return &pager{canvas: d.canvas, title: "messages about the watch", follows: true, version: func() any { return len(d.notes) }, text: text}
}
