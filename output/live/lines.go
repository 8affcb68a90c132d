package live

import (
	"strings"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

func (v *view) lines() []string {
	o, top := v.settle()
	several := len(v.shown().sections) > 1
	if len(o.spans) == 0 || o.rows == 0 && !several && v.troubleOf(o.spans[0].section) == "" {
		return []string{"", "   " + v.paint(faint, v.nothing())}
	}
	now, cursor := v.clock(), o.lineOf(v.row)
	places := map[*section][]place{}
	body := make([]string, 0, v.body())
	for line := top; line < min(top+v.body(), o.lines); line++ {
		s, i := o.at(line)
		if s == nil {
			body = append(body, "")
			continue
		}
		if line == top {
			i = -1 // whose rows these are is always seen
		}
		if places[s.section] == nil {
			places[s.section] = s.places(v.width-margin, v.ShowNamespaces, v.Wide, s.title(several))
		}
		if i < 0 {
			body = append(body, v.header(s.section, places[s.section]))
		} else {
			body = append(body, v.rowLine(s.order[i], places[s.section], now, line == cursor && o.rows > 0))
		}
	}
	return body
}

func (v *view) nothing() string {
	objects, _, _ := v.shown().total()
	switch phase, _, _ := v.connection(); {
	case objects > 0:
		return "none of " + counted(objects, "object") + " matches; esc shows all"
	case v.past != nil && v.past.rests == nil:
		return "reading the recording"
	case v.past != nil:
		return "nothing was there"
	case phase == event.PhaseLive:
		return "nothing there yet"
	default:
		return "waiting for the server"
	}
}

func (v *view) troubleOf(s *section) string {
	trouble := v.links.WorstProblem(func(l *event.WatchState) bool { return l.Target.Key().Resource == s.resource })
	where := ""
	if v.Clusters != nil && trouble.Phase != 0 {
		where = clustersOf(trouble.Affected) + " "
	}
	switch trouble.Phase {
	case event.PhaseLost:
		return where + "as of " + output.FormatClock(trouble.AsOf, v.FullTimestamps) + ", connection lost"
	case event.PhaseDenied:
		return where + "denied, trying again"
	case event.PhaseGone:
		return where + "gone, the server no longer has the resource"
	}
	return ""
}

// clustersOf names the cluster of some targets, or says how many they are in.
func clustersOf(links []*event.WatchState) string {
	names := map[string]bool{}
	for _, l := range links {
		names[l.Target.Cluster] = true
	}
	if len(names) == 1 {
		return output.EscapeLine(links[0].Target.Cluster)
	}
	return counted(len(names), "cluster")
}

// header has the names of the columns, and what is wrong with what is below.
func (v *view) header(s *section, places []place) string {
	titles := make([]string, len(places))
	for i, p := range places {
		titles[i] = v.fit(p.title, p.width)
	}
	if len(places) == 0 {
		titles = []string{strings.ToUpper(s.resource.Resource)}
	}
	line := strings.Repeat(" ", margin) + strings.Join(titles, strings.Repeat(" ", gap))
	text := v.paint(heading, strings.TrimRight(line, " "))
	trouble := v.troubleOf(s)
	if trouble == "" {
		return text
	}
	short, _, _ := strings.Cut(trouble, ",") // what comes first says most
	long := "! " + trouble
	if v.StringWidth(text)+gap+v.StringWidth(long) >= v.width {
		long = "! " + short
	}
	return v.sides(text, v.width, v.paint(alarm, long)+" ", v.paint(alarm, "!")+" ")
}

// rowLine is a row as it is drawn. Of the selected one the name stands out.
func (v *view) rowLine(r *row, places []place, now time.Time, isSelected bool) string {
	var line strings.Builder
	v.signs(&line, r, now)
	if r.gone { // it grows no older
		now = r.at
	}
	for i, p := range places {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		look := r.look(p, now)
		if p.cell == cluster && !r.gone {
			look = v.clusters.look(r.Entry.Cluster)
		}
		if isSelected && p.name {
			look = selected
		}
		line.WriteString(v.paint(look, v.cell(r, p, now)))
	}
	return line.String()
}

var signStyles = map[byte]style{'+': added, '-': deleted, '~': altered}

// signs are the marks in front of a row: its state, and what happened to it lately.
func (v *view) signs(line *strings.Builder, r *row, now time.Time) {
	state, look := " ", normal
	switch {
	case r.gone:
	case r.rank == failed:
		state, look = "✗", broken
	case r.rank == unready:
		state, look = "◌", waiting
	}
	line.WriteString(v.paint(look, state))
	sign, look := " ", normal
	switch fresh := freshness(r.at, now); {
	case r.gone, fresh == 2:
		sign, look = string(r.sign), signStyles[r.sign]
	case fresh == 1:
		sign, look = string(r.sign), faint
	}
	line.WriteString(v.paint(look, sign) + " ")
}

func (v *view) cell(r *row, p place, now time.Time) string {
	var text string
	switch p.cell {
	case cluster:
		return v.fit(v.middle(output.EscapeLine(r.Entry.Cluster), p.width), p.width)
	case namespace:
		text = r.Entry.Namespace
	case stateWhy:
		text = r.short()
	default:
		text = r.cells[p.cell]
	}
	if p.ticks {
		text = r.CellAt(text, now)
	}
	switch {
	case p.name, p.cell == namespace:
		text = v.middle(text, p.width)
	case p.tail && v.StringWidth(text) > p.width:
		text = v.TruncateLeft(text, v.StringWidth(text)-p.width+1, ellipsis)
	}
	return v.fit(text, p.width)
}

func (r *row) look(p place, now time.Time) style {
	look := normal
	switch {
	case r.gone:
		return faint
	case (p.name || p.state) && r.rank == failed:
		return broken
	case (p.name || p.state) && r.rank == unready:
		return waiting
	case p.state && r.isUnknown():
		return faint
	case p.cell >= 0 && p.cell < len(r.changed) && !p.age:
		look = [...]style{normal, warm, hot}[freshness(r.changed[p.cell], now)]
	}
	if look == normal && p.cell >= 0 && p.cell < len(r.cells) && r.cells[p.cell] == "<none>" {
		return faint // there is nothing to see
	}
	return look
}
