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

// order is a sort order of rows.
type order int

const (
	byState order = iota
	byName
	byAge
	byChange
	orders // number of orders
)

var orderNames = [orders]string{"not ready first", "name", "newest first", "last changed first"}

// name is the key of a row within its section.
type name struct{ cluster, namespace, name string }

// section is the part of the table with the rows of one resource.
type section struct {
	resource schema.GroupResource
	rows     map[name]*row
	columns  []inventory.Column
	// titles and widths of the columns. Widths never shrink.
	titles                       []string
	widths                       []int
	clusterWidth, namespaceWidth int
	// stateWidth is the width of the state column. It is 0 while the cells of all unready objects already contain the
	// reason.
	stateWidth int
	// sets has the columns by cluster. The section has their union.
	sets map[string][]inventory.Column
	// order has the shown rows in their sort order.
	order []*row
	// notReady and deletedCount are numbers of rows.
	notReady, deletedCount int
}

func (s *section) count() int { return len(s.rows) - s.deletedCount }

// tally adds by, which is 1 or -1, to the counter that applies to the row.
func (s *section) tally(r *row, by int) {
	switch {
	case r.deleted:
		s.deletedCount += by
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

// hide removes a row from the order. It must be called before anything changes that affects the order.
func (s *section) hide(o order, r *row) {
	if !r.shown {
		return
	}
	if i := s.find(o, r); i < len(s.order) && s.order[i] == r {
		s.order = slices.Delete(s.order, i, i+1)
	}
	r.shown = false
}

// setColumns sets the columns of a cluster and maps the cells of all rows to the union of all clusters' columns, because
// clusters of different versions can have different columns.
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
		r.cells, r.changed = mapCells(r.cells, before, s.titles), nil
		s.widen(r)
	}
}

// fit maps the cells of a state to the columns of the section.
func (s *section) fit(state *inventory.State, cells []string) []string {
	own := state.Columns()
	if inventory.SameColumns(own, s.columns) {
		return cells
	}
	titles := make([]string, len(own))
	for i := range own {
		titles[i] = own[i].Header()
	}
	return mapCells(cells, titles, s.titles)
}

func mapCells(cells, from, to []string) []string {
	now := make([]string, len(to))
	for i, title := range to {
		if j := slices.Index(from, title); j >= 0 && j < len(cells) {
			now[i] = cells[j]
		}
	}
	return now
}

// widen widens the columns as far as a row needs.
func (s *section) widen(r *row) {
	for i, cell := range r.cells[:min(len(r.cells), len(s.widths))] { // a server may send more cells than columns
		s.widths[i] = max(s.widths[i], ansi.StringWidthWc(cell)+s.maxGrowth(i, cell))
	}
	s.clusterWidth = max(s.clusterWidth, min(ansi.StringWidthWc(output.EscapeLine(r.Entry.Cluster)), maxCluster))
	s.namespaceWidth = max(s.namespaceWidth, ansi.StringWidthWc(r.Entry.Namespace))
	if short := r.shortState(); short != "" && (s.stateWidth > 0 || !s.cellsExplain(r, short)) {
		s.stateWidth = max(s.stateWidth, len("STATE"), min(ansi.StringWidthWc(short), maxState))
	}
}

// cellsExplain reports whether the cells of a row already contain why, the reason why it is not ready. Without a specific
// reason, the server's STATUS column is enough.
func (s *section) cellsExplain(r *row, why string) bool {
	return !r.HasReason && slices.Contains(s.titles, "STATUS") || slices.ContainsFunc(r.cells, func(cell string) bool { return strings.Contains(cell, why) })
}

// maxGrowth returns by how much an age in a cell can become wider.
func (s *section) maxGrowth(column int, cell string) int {
	if s.columns[column].AgeFormat == inventory.AgeNone {
		return 0
	}
	if text, is := inventory.CutAgeSuffix(cell); is {
		cell = strings.TrimSuffix(cell[len(text)+len(" ("):], " ago)")
	}
	if !inventory.IsDuration(cell) {
		return 0
	}
	return max(maxAgeWidth-len(cell), 0)
}
