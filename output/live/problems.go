package live

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// problems are the lines above the table that say what needs a look.
type problems struct {
	*canvas
	*view
	at    time.Time // when they were found
	next  time.Time // when they are to be found again
	read  time.Time // up to when the past had been read
	found []inventory.Problem
}

const (
	// lookEvery is how often what needs a look is found anew, and lookLeast how often where so much is wrong that it
	// would take more than one part in lookPart of the time.
	lookEvery, lookLeast, lookPart = 500 * time.Millisecond, 2 * time.Second, 50
	// mostProblems is how many lines there are at most, where a line in so many has room for one.
	mostProblems, linesForProblem = 5, 6
)

// lines stand between the top and the table, the last one in any case: that is empty if there is a
// problem, or says that there is none.
func (p *problems) lines() []string {
	if now := p.clock(); p.past != nil {
		if p.at != now || p.read != p.past.read {
			p.at, p.read, p.found = now, p.past.read, p.inventory.Problems(now, mostProblems, p.Compare)
		}
	} else if p.paused == nil && (!now.Before(p.next) || now.Before(p.at)) {
		begun := time.Now()
		p.at, p.found = now, p.inventory.Problems(now, mostProblems, p.Compare)
		p.next = now.Add(min(max(lookEvery, lookPart*time.Since(begun)), lookLeast))
	}
	if len(p.found) == 0 {
		return []string{" " + p.paint(faint, p.none())}
	}
	room := min(mostProblems, p.height/linesForProblem)
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

// none says that there are none, where that is known.
func (p *problems) none() string {
	if objects, _, _ := p.shown().total(); objects == 0 {
		return ""
	}
	if p.past != nil {
		switch {
		case p.past.rests == nil:
			return ""
		case p.whyUnknown() != "":
			return "what needed a look is not known"
		}
		return inventory.AllHealthy
	}
	phase, _, _ := p.connection()
	switch {
	case phase == event.PhaseLive:
		return inventory.AllHealthy
	case p.Clusters != nil:
		_, connected, all := p.together()
		return inventory.DescribeHealth(connected, all)
	}
	return inventory.HealthUnknown
}

// signWidth is how wide a sign is, with what is around it.
const signWidth = 3

// belowIndent is where a line begins that belongs to the one above it.
const belowIndent = signWidth + 2

var looks = map[inventory.Severity]style{inventory.SeverityFailed: broken, inventory.SeverityWaiting: waiting, inventory.SeverityRecovered: fine}

// line says what is wrong with what, and as much as has room of since when, and after what. What after has no
// room there is below.
func (p *problems) line(one *inventory.Problem) (line, below string) {
	w := one.Describe(p.clock(), inventory.NameOptions{ShortName: p.shortName, ShowNamespaces: p.ShowNamespaces, FullTimestamps: p.FullTimestamps})
	why, when, after := w.Fit(p.width-signWidth, p.StringWidth)
	left := " " + p.paint(looks[w.Severity], string(w.Sign)) + " " + p.paint(p.clusters.look(one.State.Entry.Cluster), w.Cluster) + p.paint(bold, w.Subject[len(w.Cluster):]) + "  " + why
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

// after has the change stand out from the word before it.
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
