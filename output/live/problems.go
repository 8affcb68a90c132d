package live

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// problems draws the list of problems above the table. It embeds the view because it lists the problems of the same objects
// and pauses with the table.
type problems struct {
	*canvas
	*view
	at         time.Time // time of found
	nextUpdate time.Time // time of the next update
	read       time.Time // of a recording: how far it had been read
	found      []inventory.Problem
}

const (
	// updateInterval is the time between two updates. If an update takes long, the interval is updateCostFactor times
	// that duration, but at most maxUpdateInterval.
	updateInterval, maxUpdateInterval, updateCostFactor = 500 * time.Millisecond, 2 * time.Second, 50
	// maxProblems is the maximum number of lines. There is at most one line per linesForProblem lines of the screen.
	maxProblems, linesForProblem = 5, 6
)

// lines returns the lines between the status line and the table. The last one is empty, or the text for "no problems" if
// it is the only one.
func (p *problems) lines() []string {
	if now := p.clock(); p.timeView != nil {
		if p.at != now || p.read != p.timeView.read {
			p.at, p.read, p.found = now, p.timeView.read, p.inventory.Problems(now, maxProblems, p.Compare)
		}
	} else if p.paused == nil && (!now.Before(p.nextUpdate) || now.Before(p.at)) {
		begun := time.Now()
		p.at, p.found = now, p.inventory.Problems(now, maxProblems, p.Compare)
		p.nextUpdate = now.Add(min(max(updateInterval, updateCostFactor*time.Since(begun)), maxUpdateInterval))
	}
	if len(p.found) == 0 {
		return []string{" " + p.paint(faint, p.noProblemsText())}
	}
	room := min(maxProblems, p.height/linesForProblem)
	shown := p.found
	if len(shown) > room {
		shown = shown[:room-1]
	}
	more := len(p.found) - len(shown)
	spare := room - len(shown) - min(more, 1)
	var lines []string
	for n := range shown {
		line, below := p.line(&shown[n])
		lines = append(lines, line)
		if below != "" && spare > 0 {
			lines = append(lines, below)
			spare--
		}
	}
	if more > 0 {
		lines = append(lines, p.paint(faint, fmt.Sprintf("   … and %d more", more)))
	}
	return append(lines, "")
}

// noProblemsText returns the text for an empty list. It says that there are no problems only if all watches are connected, or
// if the shown time of a recording is known.
func (p *problems) noProblemsText() string {
	if objects, _, _ := p.shown().total(); objects == 0 {
		return ""
	}
	if !inventory.HasHealth(p.links.All()) {
		return inventory.NoHealth
	}
	if p.timeView != nil {
		switch {
		case p.timeView.loaded == nil:
			return ""
		case p.whyUnknown() != "":
			return "problems at this time unknown"
		}
		return inventory.AllHealthy
	}
	phase, _, _ := p.connection()
	switch {
	case phase == event.PhaseLive:
		return inventory.AllHealthy
	case p.Clusters != nil:
		_, connected, all := p.combinedState()
		return inventory.DescribeHealth(connected, all)
	}
	return inventory.HealthUnknown
}

// signWidth is the width of a sign with the spaces around it.
const signWidth = 3

// belowIndent is the indentation of a line that continues the one above it.
const belowIndent = signWidth + 2

var looks = map[inventory.Severity]style{inventory.SeverityFailed: broken, inventory.SeverityWaiting: waiting, inventory.SeverityRecovered: fine}

// line returns a problem on one line. If there is no room for the preceding change, it is returned as a second line.
func (p *problems) line(one *inventory.Problem) (line, below string) {
	w := one.Describe(p.clock(), inventory.NameOptions{ShortName: p.shortName, ShowNamespaces: p.ShowNamespaces, FullTimestamps: p.FullTimestamps})
	why, when, after := w.Fit(p.width-signWidth, p.StringWidth)
	left := " " + p.paint(looks[w.Severity], string(w.Sign)) + " " + p.paint(p.clusters.nameStyle(one.State.Entry.Cluster), w.Cluster) + p.paint(bold, w.Subject[len(w.Cluster):]) + "  " + why
	look := faint
	if w.Severity == inventory.SeverityRecovered {
		look = fine
	}
	if when != "" {
		left += "  " + p.paint(look, when)
	}
	if after != "" {
		left += "  " + p.after(after)
	} else if after = w.CauseLine(p.width-belowIndent, p.StringWidth); after != "" {
		below = p.Truncate(strings.Repeat(" ", belowIndent)+p.after(after), p.width, ellipsis)
	}
	return p.Truncate(left, p.width, ellipsis), below
}

// after paints the word "after" faint, and not the change that follows it.
func (p *problems) after(text string) string {
	word, change, _ := strings.Cut(text, " ")
	return p.paint(faint, word+" ") + change
}

func (p *problems) shortName(r schema.GroupResource) string {
	for _, l := range p.links.All() {
		if l.Target.Resource().GroupResource() == r && p.ShortName != nil {
			return p.ShortName(l.Target.Resource())
		}
	}
	return r.Resource
}
