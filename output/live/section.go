package live

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/output/inventory"
)

// order is by what rows are sorted.
type order int

const (
	byState order = iota
	byName
	byAge
	byChange
	orders // how many there are
)

var orderNames = [orders]string{"not ready first", "name", "newest first", "last changed first"}

// name is that of a row within its section, of several clusters with that of its own.
type name struct{ cluster, namespace, name string }

// section has the rows of one resource.
type section struct {
	resource schema.GroupResource
	rows     map[name]*row
	columns  []inventory.Column
	// titles and widths are those of the columns: once wider, they stay so.
	titles                       []string
	widths                       []int
	clusterWidth, namespaceWidth int
	// stateWidth is that of why objects are not ready: 0 while the cells of all that are not say so themselves.
	stateWidth int
	// sets has the columns of each of several clusters, which make those of the section together.
	sets map[string][]inventory.Column
	// order are the rows that are shown, sorted.
	order []*row
	// notReady and gone are how many rows are that, or deleted.
	notReady, gone int
}

func (s *section) count() int { return len(s.rows) - s.gone }

// tally counts a row, or with -1 takes it out of the count.
func (s *section) tally(r *row, by int) {
	switch {
	case r.gone:
		s.gone += by
	case r.rank != ready:
		s.notReady += by
	}
}

func (o order) compare(a, b *row) int {
	first := 0
	switch o {
	case byState:
		first = cmp.Compare(a.sorted, b.sorted)
	case byAge:
		first = b.Created.Compare(a.Created)
	case byChange:
		first = b.at.Compare(a.at)
	}
	if first != 0 {
		return first
	}
	return cmp.Or(strings.Compare(a.Entry.Cluster, b.Entry.Cluster), strings.Compare(a.Entry.Namespace, b.Entry.Namespace), strings.Compare(a.Entry.Name, b.Entry.Name))
}

func (s *section) find(o order, r *row) int {
	return sort.Search(len(s.order), func(i int) bool { return o.compare(s.order[i], r) >= 0 })
}

func (s *section) show(o order, r *row) {
	if !r.shown {
		s.order = slices.Insert(s.order, s.find(o, r), r)
		r.shown = true
	}
}

// hide takes a row out of the order, before anything changes by which it is sorted.
func (s *section) hide(o order, r *row) {
	if !r.shown {
		return
	}
	if i := s.find(o, r); i < len(s.order) && s.order[i] == r {
		s.order = slices.Delete(s.order, i, i+1)
	}
	r.shown = false
}

// setColumns takes other columns of a cluster, and brings the cells of all rows into those that all have
// together: of another version it may have others.
func (s *section) setColumns(cluster string, columns []inventory.Column) {
	if len(columns) == 0 || inventory.SameColumns(s.sets[cluster], columns) {
		return
	}
	s.sets[cluster] = columns
	columns = nil
	for _, name := range slices.Sorted(maps.Keys(s.sets)) {
		columns = inventory.MergeColumns(columns, s.sets[name])
	}
	if inventory.SameColumns(s.columns, columns) {
		return
	}
	before := s.titles
	s.columns, s.titles, s.widths = columns, make([]string, len(columns)), make([]int, len(columns))
	for i, c := range columns {
		s.titles[i] = c.Header()
		s.widths[i] = ansi.StringWidthWc(s.titles[i])
	}
	for _, r := range s.rows {
		r.cells, r.changed = moved(r.cells, before, s.titles), nil
		s.widen(r)
	}
}

// fit brings the cells of a state into the columns of its section.
func (s *section) fit(state *inventory.State, cells []string) []string {
	own := state.Columns()
	if inventory.SameColumns(own, s.columns) {
		return cells
	}
	titles := make([]string, len(own))
	for i := range own {
		titles[i] = own[i].Header()
	}
	return moved(cells, titles, s.titles)
}

func moved(cells, from, to []string) []string {
	now := make([]string, len(to))
	for i, title := range to {
		if j := slices.Index(from, title); j >= 0 && j < len(cells) {
			now[i] = cells[j]
		}
	}
	return now
}

// widen makes the columns as wide as a row needs.
func (s *section) widen(r *row) {
	for i, cell := range r.cells[:min(len(r.cells), len(s.widths))] { // a server may send more than it named
		s.widths[i] = max(s.widths[i], ansi.StringWidthWc(cell)+s.growth(i, cell))
	}
	s.clusterWidth = max(s.clusterWidth, min(ansi.StringWidthWc(output.EscapeLine(r.Entry.Cluster)), mostCluster))
	s.namespaceWidth = max(s.namespaceWidth, ansi.StringWidthWc(r.Entry.Namespace))
	if short := r.short(); short != "" && (s.stateWidth > 0 || !s.says(r, short)) {
		s.stateWidth = max(s.stateWidth, len("STATE"), min(ansi.StringWidthWc(short), mostState))
	}
}

// says reports whether the cells of a row say why it is not ready: so does a status of the server, if there is no
// other reason.
func (s *section) says(r *row, why string) bool {
	return !r.HasReason && slices.Contains(s.titles, "STATUS") || slices.ContainsFunc(r.cells, func(cell string) bool { return strings.Contains(cell, why) })
}

// growth is by how much a cell can become wider with time.
func (s *section) growth(column int, cell string) int {
	if s.columns[column].AgeFormat == inventory.AgeNone {
		return 0
	}
	if text, is := inventory.CutAgeSuffix(cell); is {
		cell = strings.TrimSuffix(cell[len(text)+len(" ("):], " ago)")
	}
	if !inventory.IsDuration(cell) {
		return 0
	}
	return max(longestAgo-len(cell), 0)
}
