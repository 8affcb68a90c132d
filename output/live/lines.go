package live

import (
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

func (v *view) lines() []string {
	o, top := v.layout()
	several := len(v.shown().sections) > 1
	if len(o.spans) == 0 || o.rows == 0 && !several && v.problemOf(o.spans[0].section) == "" {
		return []string{"", "   " + v.paint(faint, v.nothing())}
	}
	now, cursor := v.clock(), o.lineOf(v.row)
	places := map[*section][]columnLayout{}
	body := make([]string, 0, v.body())
	for line := top; line < min(top+v.body(), o.lines); line++ {
		s, i := o.at(line)
		if s == nil {
			body = append(body, "")
			continue
		}
		if line == top {
			i = -1 // the header is always visible
		}
		if places[s.section] == nil {
			places[s.section] = s.layout(v.width-margin, v.ShowNamespaces, v.Wide, s.title(several))
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
		return "no matches among " + text.Count(objects, "object") + "; esc shows all"
	case v.timeView != nil && v.timeView.loaded == nil:
		return "reading the recording"
	case v.timeView != nil:
		return "no objects at this time"
	case phase == event.PhaseLive:
		return "no objects yet"
	default:
		return "waiting for the server"
	}
}

func (v *view) problemOf(s *section) string {
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

// clustersOf returns the name of the cluster of some watches, or the number of clusters if there are several.
func clustersOf(links []*event.WatchState) string {
	names := map[string]bool{}
	for _, l := range links {
		names[l.Target.Cluster] = true
	}
	if len(names) == 1 {
		return output.EscapeLine(links[0].Target.Cluster)
	}
	return text.Count(len(names), "cluster")
}

// header returns the header of a section, including a problem of its watch.
func (v *view) header(s *section, places []columnLayout) string {
	titles := make([]string, len(places))
	for i, p := range places {
		titles[i] = v.fit(p.title, p.width)
	}
	if len(places) == 0 {
		titles = []string{strings.ToUpper(s.resource.Resource)}
	}
	line := strings.Repeat(" ", margin) + strings.Join(titles, strings.Repeat(" ", gap))
	text := v.paint(heading, strings.TrimRight(line, " "))
	trouble := v.problemOf(s)
	if trouble == "" {
		return text
	}
	short, _, _ := strings.Cut(trouble, ",") // the first part is the most important one
	long := "! " + trouble
	if v.StringWidth(text)+gap+v.StringWidth(long) >= v.width {
		long = "! " + short
	}
	return v.sides(text, v.width, v.paint(alarm, long)+" ", v.paint(alarm, "!")+" ")
}

// rowLine returns a row as it is drawn. The name of the selected row is highlighted.
func (v *view) rowLine(r *row, places []columnLayout, now time.Time, isSelected bool) string {
	var line strings.Builder
	v.signs(&line, r, now)
	if r.deleted { // its age no longer advances
		now = r.at
	}
	for i, p := range places {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		look := r.look(p, now)
		if p.cell == cluster && !r.deleted {
			look = v.clusters.nameStyle(r.Entry.Cluster)
		}
		if isSelected && p.name {
			look = selected
		}
		line.WriteString(v.paint(look, v.cell(r, p, now)))
	}
	return line.String()
}

var signStyles = map[byte]style{'+': added, '-': deleted, '~': altered}

// signs writes the signs before a row: its state and its latest event.
func (v *view) signs(line *strings.Builder, r *row, now time.Time) {
	state, look := " ", normal
	switch {
	case r.deleted:
	case r.rank == failed:
		state, look = "✗", broken
	case r.rank == unready:
		state, look = "◌", waiting
	}
	line.WriteString(v.paint(look, state))
	sign, look := " ", normal
	switch fresh := freshness(r.at, now); {
	case r.deleted, fresh == 2:
		sign, look = string(r.sign), signStyles[r.sign]
	case fresh == 1:
		sign, look = string(r.sign), faint
	}
	line.WriteString(v.paint(look, sign) + " ")
}

func (v *view) cell(r *row, p columnLayout, now time.Time) string {
	var text string
	switch p.cell {
	case cluster:
		return v.fit(v.middle(output.EscapeLine(r.Entry.Cluster), p.width), p.width)
	case namespace:
		text = r.Entry.Namespace
	case stateReason:
		text = r.shortState()
	default:
		text = r.cells[p.cell]
	}
	if p.hasAge {
		text = r.CellAt(text, now)
	}
	switch {
	case p.name, p.cell == namespace:
		text = v.middle(text, p.width)
	case p.cutFront && v.StringWidth(text) > p.width:
		text = v.TruncateLeft(text, v.StringWidth(text)-p.width+1, ellipsis)
	}
	return v.fit(text, p.width)
}

func (r *row) look(p columnLayout, now time.Time) style {
	look := normal
	switch {
	case r.deleted:
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
		return faint
	}
	return look
}
