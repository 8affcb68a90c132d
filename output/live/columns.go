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
	// A column is cut down to leastCell if the terminal is narrow, that of the name to leastName.
	leastCell = 6
	leastName = 14
	// Of namespaces, and of what the server calls the status, more is seen: CrashLoopBackOff has to be.
	leastNamespace, leastStatus = 12, 16
	// mostCluster is how wide the column of clusters is at most: names may be whole addresses.
	mostCluster = 24
	// The column that says why an object is not ready is at most mostState wide, and cut down to leastState when no other can go.
	mostState, leastState = 34, 16
	// leastWide is how wide a column for wide terminals is at least, unless it needs less.
	leastWide = 16
)

// place is a column as it is drawn.
type place struct {
	cell  int // which of a row; namespace or cluster: none of them
	title string
	width int
	name  bool
	age   bool
	ticks bool
	wide  bool
	tail  bool // its end says most: it is cut at the front
	state bool // it says why the object is not ready
	least int  // it is not cut down to less
}

const namespace, cluster, stateWhy = -1, -2, -3

// places says which columns of a section are drawn, and how wide, if there is so much room for all.
// title is what stands above the names. If no column has the name, as with Events, the first one
// stands for the row: it shows which is selected, and whose rows these are.
func (s *section) places(room int, namespaces, wide bool, title string) []place {
	var all []place
	if s.clusterWidth > 0 {
		all = append(all, place{cell: cluster, title: "CLUSTER", width: max(s.clusterWidth, len("CLUSTER"))})
	}
	if namespaces && s.namespaceWidth > 0 {
		all = append(all, place{cell: namespace, title: "NAMESPACE", width: max(s.namespaceWidth, len("NAMESPACE")), least: leastNamespace})
	}
	named := slices.IndexFunc(s.columns, func(c inventory.Column) bool { return c.IsName() })
	for i, c := range s.columns {
		p := place{cell: i, title: s.titles[i], width: s.widths[i], age: c.IsAge(), ticks: c.AgeFormat != inventory.AgeNone}
		p.name = i == max(named, 0)
		if p.least = leastCell; strings.EqualFold(c.Name, "Status") { // it says why
			p.least = leastStatus
		}
		p.wide = c.Priority != 0 && !wide && !p.name
		p.tail = strings.EqualFold(c.Name, "Images") || strings.EqualFold(c.Name, "Image")
		switch {
		case p.name && named < 0 && title != "":
			p.title = title + ": " + p.title
		case p.name:
			p.title = cmp.Or(title, p.title)
		case p.age:
			p.width = max(p.width, len("2y364d"))
		}
		switch {
		case p.name:
			p.width, p.least = max(p.width, ansi.StringWidthWc(p.title)), leastName
		case p.age:
			p.least = p.width
		}
		all = append(all, p)
		if p.name && s.stateWidth > 0 {
			all = append(all, place{cell: stateWhy, title: "STATE", width: s.stateWidth, state: true, least: s.stateWidth})
		}
	}
	return narrow(widen(all, room), room)
}

func total(places []place) int {
	sum := -gap
	for _, p := range places {
		sum += p.width + gap
	}
	return max(sum, 0)
}

// widen leaves out of the columns for wide terminals those for which there is no room: images have
// the first of it. The last one that is shown may be cut.
func widen(all []place, room int) []place {
	spare := room - total(slices.DeleteFunc(slices.Clone(all), func(p place) bool { return p.wide }))
	fits := map[int]int{} // how wide, by the cell
	for _, images := range []bool{true, false} {
		for _, p := range all {
			width := min(p.width, spare-gap)
			if !p.wide || p.tail != images || width < min(p.width, leastWide) {
				continue
			}
			fits[p.cell] = width
			spare -= width + gap
		}
	}
	var places []place
	for _, p := range all {
		if width, is := fits[p.cell]; is && p.wide {
			p.width = width
		} else if p.wide {
			continue
		}
		places = append(places, p)
	}
	return places
}

// narrow cuts the widest columns first, then leaves out those at the right; at last it cuts why objects are not ready, and
// then name and age are left.
func narrow(places []place, room int) []place {
	for total(places) > room {
		widest, last, state := -1, len(places)-1, -1
		for i, p := range places {
			if p.width > p.least && (widest < 0 || p.width > places[widest].width) {
				widest = i
			}
			if !p.age && !p.name && !p.state {
				last = i
			}
			if p.state && p.width > leastState {
				state = i
			}
		}
		switch {
		case widest >= 0:
			places[widest].width--
		case state >= 0 && (places[last].age || last == state || places[last].name):
			places[state].width--
		case len(places) > 1:
			places = slices.Delete(places, last, last+1)
		default:
			return places
		}
	}
	return places
}

// title is what stands above the names of a section.
func (s *section) title(several bool) string {
	if !several {
		return ""
	}
	return fmt.Sprintf("%s %d", strings.ToUpper(s.resource.Resource), s.count())
}
