package live

import (
	"fmt"
	"time"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// problems are the lines above the table that say what needs a look.
type problems struct {
	*canvas
	*view
	at    time.Time // when they were found
	found []inventory.Problem
}

const (
	// lookEvery is how often what needs a look is found anew.
	lookEvery = 500 * time.Millisecond
	// mostProblems is how many lines there are at most, where a line in so many has room for one.
	mostProblems, linesForProblem = 5, 6
)

// lines stand between the top and the table, the last one in any case: that is empty if there is a
// problem, or says that there is none.
func (p *problems) lines() []string {
	if now := p.now(); p.paused == nil && (now.Sub(p.at) >= lookEvery || now.Before(p.at)) {
		p.at, p.found = now, p.inventory.Problems(now, mostProblems, p.Compare)
	}
	if len(p.found) == 0 {
		return []string{" " + p.paint(faint, p.none())}
	}
	room := min(mostProblems, p.height/linesForProblem)
	shown := p.found
	if len(shown) > room {
		shown = shown[:room-1]
	}
	var lines []string
	for n := range shown {
		lines = append(lines, p.line(&shown[n]))
	}
	if more := len(p.found) - len(shown); more > 0 {
		lines = append(lines, p.paint(faint, fmt.Sprintf("   … and %d more", more)))
	}
	return append(lines, "")
}

// none says that there are none, where that is known.
func (p *problems) none() string {
	if objects, _, _ := p.table.total(); objects == 0 {
		return ""
	}
	if phase, _, _ := connection(p.links); phase != event.PhaseLive {
		return "what needs a look is not known before all is connected"
	}
	return "nothing needs a look"
}

// line says what is wrong with what, and as much as has room of since when, and after what.
func (p *problems) line(one *inventory.Problem) string {
	sign, look := "◌", waiting
	switch {
	case !one.Over.IsZero():
		sign, look = "●", fine
	case one.Failed:
		sign, look = "✗", broken
	}
	left := " " + p.paint(look, sign) + " " + p.paint(bold, p.subject(one)) + "  " + output.Line(one.State.Why)
	if one.Objects > 1 {
		left += fmt.Sprintf(" ×%d", one.Objects)
	}
	for _, part := range p.rest(one) {
		if p.StringWidth(left)+gap+p.StringWidth(part) > p.width {
			break
		}
		left += "  " + part
	}
	return p.Truncate(left, p.width, ellipsis)
}

// subject names the root as the table does: after its namespace where there are several.
func (p *problems) subject(one *inventory.Problem) string {
	name := output.Line(one.Root.Kind) + "/" + output.Line(one.Root.Name)
	for _, t := range p.Targets {
		if t.Resource().GroupResource() == one.Resource {
			name = p.shortName(t) + "/" + output.Line(one.Root.Name)
		}
	}
	if p.Namespaces && one.Root.Namespace != "" {
		name = output.Line(one.Root.Namespace) + " " + name
	}
	return name
}

func (p *problems) shortName(t event.Target) string {
	if p.ShortName == nil {
		return t.Resource().Resource
	}
	return p.ShortName(t.Resource())
}

func (p *problems) rest(one *inventory.Problem) []string {
	parts := []string{p.paint(faint, "before "+p.clock(one.State.Of.First))}
	switch {
	case !one.Over.IsZero():
		return []string{p.paint(fine, "well again for "+output.HowLong(p.now(), one.Over))}
	case !one.Since.IsZero():
		parts = []string{p.paint(faint, "since "+p.clock(one.Since))}
	}
	if c := one.Cause; c != nil {
		after := c.What
		if c.Who != "" {
			after = c.Who + ": " + after
		}
		parts = append(parts, p.paint(faint, "after ")+output.Line(after))
	}
	return parts
}

// clock is a time of today, or else its day, too.
func (p *problems) clock(t time.Time) string {
	if t, now := t.Local(), p.now().Local(); t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		return t.Format(time.DateTime)
	}
	return t.Local().Format(time.TimeOnly)
}
