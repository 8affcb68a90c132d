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
	// margin is the width of the two signs and the space before the first column.
	margin = 3
	// minCell is the minimum width of a column on a narrow terminal, and minName the minimum width of the name.
	minCell = 6
	minName = 14
	// Namespaces and the server's status column get more room: CrashLoopBackOff must be visible.
	minNamespace, minStatus = 12, 16
	// maxCluster limits the width of cluster names, which may be whole addresses.
	maxCluster = 24
	// maxState limits the width of the state column. It is cut down to minState when no other column can be removed.
	maxState, minState = 34, 16
	// minWide is the minimum width of a column for wide terminals, unless it needs less.
	minWide = 16
)

// columnLayout describes a column as it is drawn.
type columnLayout struct {
	cell     int // index of the row's cell, or namespace, cluster or stateReason
	title    string
	width    int
	name     bool // has the names, or takes their role
	age      bool // the AGE column
	hasAge   bool // cells contain an age, which advances
	wide     bool // only for wide terminals
	cutFront bool // the end is most informative: cut at the front
	state    bool // shows why the object is not ready
	minWidth int  // it is not cut below this width
}

const namespace, cluster, stateReason = -1, -2, -3

// layout returns the columns to draw, and their widths, for a total width of room. title is the header of the name
// column. If there is no name column, as with Events, the first column takes its role: it has the title and shows the
// selection.
func (s *section) layout(room int, namespaces, wide bool, title string) []columnLayout {
	var all []columnLayout
	if s.clusterWidth > 0 {
		all = append(all, columnLayout{cell: cluster, title: "CLUSTER", width: max(s.clusterWidth, len("CLUSTER"))})
	}
	if namespaces && s.namespaceWidth > 0 {
		all = append(all, columnLayout{cell: namespace, title: "NAMESPACE", width: max(s.namespaceWidth, len("NAMESPACE")), minWidth: minNamespace})
	}
	named := slices.IndexFunc(s.columns, func(c inventory.Column) bool { return c.IsName() })
	for i, c := range s.columns {
		p := columnLayout{cell: i, title: s.titles[i], width: s.widths[i], age: c.IsAge(), hasAge: c.AgeFormat != inventory.AgeNone}
		p.name = i == max(named, 0)
		if p.minWidth = minCell; strings.EqualFold(c.Name, "Status") { // it contains the reason
			p.minWidth = minStatus
		}
		p.wide = c.Priority != 0 && !wide && !p.name
		p.cutFront = strings.EqualFold(c.Name, "Images") || strings.EqualFold(c.Name, "Image")
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
			p.width, p.minWidth = max(p.width, ansi.StringWidthWc(p.title)), minName
		case p.age:
			p.minWidth = p.width
		}
		all = append(all, p)
		if p.name && s.stateWidth > 0 {
			all = append(all, columnLayout{cell: stateReason, title: "STATE", width: s.stateWidth, state: true, minWidth: s.stateWidth})
		}
	}
	return shrink(addWide(all, room), room)
}

func totalWidth(places []columnLayout) int {
	sum := -gap
	for _, p := range places {
		sum += p.width + gap
	}
	return max(sum, 0)
}

// addWide removes the columns for wide terminals that do not fit. Images have priority. The last of the remaining wide columns
// may be cut.
func addWide(all []columnLayout, room int) []columnLayout {
	spare := room - totalWidth(slices.DeleteFunc(slices.Clone(all), func(p columnLayout) bool { return p.wide }))
	fits := map[int]int{} // cell -> width
	for _, images := range []bool{true, false} {
		for _, p := range all {
			width := min(p.width, spare-gap)
			if !p.wide || p.cutFront != images || width < min(p.width, minWide) {
				continue
			}
			fits[p.cell] = width
			spare -= width + gap
		}
	}
	var places []columnLayout
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

// shrink cuts the widest columns first. It then removes columns from the right, and finally cuts the state column. Name
// and age remain.
func shrink(places []columnLayout, room int) []columnLayout {
	for totalWidth(places) > room {
		widest, last, state := -1, len(places)-1, -1
		for i, p := range places {
			if p.width > p.minWidth && (widest < 0 || p.width > places[widest].width) {
				widest = i
			}
			if !p.age && !p.name && !p.state {
				last = i
			}
			if p.state && p.width > minState {
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

// title returns the header of the name column. several is true if the table has more than one section.
func (s *section) title(several bool) string {
	if !several {
		return ""
	}
	return fmt.Sprintf("%s %d", strings.ToUpper(s.resource.Resource), s.count())
}
