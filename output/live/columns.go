package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"dwatch/output/inventory"
)

const (
	// margin is in front of the first column: two signs, a space.
	margin = 3
	// A column is cut down to leastCell if the terminal is narrow, that of the name to
	// leastName.
	leastCell = 6
	leastName = 14
)

// place is a column as it is drawn.
type place struct {
	cell  int // which of a row; namespace: none of them
	title string
	width int
	name  bool
	age   bool
	ticks bool
	wide  bool
}

const namespace = -1

// places says which columns of a section are drawn, and how wide, if there is so much
// room for all. title is what stands above the names.
func (s *section) places(room int, namespaces, wide bool, title string) []place {
	var all []place
	if namespaces && s.namespaceWidth > 0 {
		all = append(all, place{cell: namespace, title: "NAMESPACE", width: max(s.namespaceWidth, len("NAMESPACE"))})
	}
	named := false
	for i, c := range s.columns {
		p := place{cell: i, title: c.Header(), width: s.widths[i], age: c.IsAge(), ticks: c.Clock != inventory.Stands, wide: c.Priority != 0 && !wide}
		if c.IsName() && !named {
			p.name, named = true, true
			p.title = cmp.Or(title, p.title)
			p.width = max(p.width, ansi.StringWidthWc(p.title))
		}
		if p.age {
			p.width = max(p.width, len("2y364d"))
		}
		all = append(all, p)
	}
	return narrow(led(widen(all, room), title), room)
}

// led makes the first column the one that stands for the row if none has the name, as
// with Events: it shows which row is selected, and whose rows these are.
func led(places []place, title string) []place {
	if slices.ContainsFunc(places, func(p place) bool { return p.name }) {
		return places
	}
	for i := range places {
		if p := &places[i]; p.cell != namespace {
			p.name = true
			if title != "" {
				p.title = title + ": " + p.title
			}
			p.width = max(p.width, ansi.StringWidthWc(p.title))
			break
		}
	}
	return places
}

// total is how much room columns take.
func total(places []place) int {
	sum := -gap
	for _, p := range places {
		sum += p.width + gap
	}
	return max(sum, 0)
}

// widen leaves out of the columns for wide terminals those for which there is no room.
func widen(all []place, room int) []place {
	var places []place
	used := total(slices.DeleteFunc(slices.Clone(all), func(p place) bool { return p.wide }))
	for _, p := range all {
		if p.wide {
			used += gap + p.width
		}
		if !p.wide || used <= room {
			places = append(places, p)
		}
	}
	return places
}

// narrow makes columns fit: the widest ones are cut first, and what does not fit even so
// is left out from the right; the name and the age stay longest.
func narrow(places []place, room int) []place {
	for total(places) > room {
		widest := -1
		for i, p := range places {
			if p.width > p.least() && (widest < 0 || p.width > places[widest].width) {
				widest = i
			}
		}
		if widest >= 0 {
			places[widest].width--
			continue
		}
		last := len(places) - 1
		for last > 0 && (places[last].age || places[last].name) {
			last--
		}
		if last < 0 || len(places) == 1 {
			break
		}
		if places[last].name {
			last = len(places) - 1
		}
		places = slices.Delete(places, last, last+1)
	}
	return places
}

// least is how narrow a column may become.
func (p place) least() int {
	switch {
	case p.age:
		return p.width
	case p.name:
		return leastName
	}
	return leastCell
}

// title is what stands above the names of a section.
func (s *section) title(several bool) string {
	if !several {
		return ""
	}
	return fmt.Sprintf("%s %d", strings.ToUpper(s.resource.Resource), s.count())
}
