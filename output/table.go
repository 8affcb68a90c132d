package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// TableOptions configures the columns that a table has in addition to the server's columns.
type TableOptions struct {
	// ShowNamespaces adds the column NAMESPACE. ShowKind adds the kind to the name.
	ShowNamespaces, ShowKind bool
	// ClusterScoped are the cluster-scoped kinds that get an empty column NAMESPACE. As in kubectl, these are the kinds in a
	// list that come after a namespaced one.
	ClusterScoped map[schema.GroupVersionKind]bool
	// LabelColumns are the labels with a column. ShowLabels adds a column with all labels.
	LabelColumns []string
	ShowLabels   bool
}

// tableEncoder prints table rows from the server, as kubectl does. The lines of a stream begin with the type and time of the
// event. It embeds Options because their methods encode the objects.
type tableEncoder struct {
	Options
	grid         grid
	tables       map[schema.GroupVersionKind]*table
	statusLayout *layout
	last         *table  // the table whose header was printed last
	palette      Palette // for the names of clusters
}

// table has the columns of a kind.
type table struct {
	kind schema.GroupVersionKind
	columnSet
	layout *layout
	header string // the last printed header
}

func newTable(o Options) encoder {
	return &tableEncoder{Options: o, tables: map[schema.GroupVersionKind]*table{}, statusLayout: newLayout(), palette: NewPalette(o.ClusterNames...)}
}

func (t *tableEncoder) tableOf(o event.Object) *table {
	kind := o.GroupVersionKind()
	if t.tables[kind] == nil {
		t.tables[kind] = &table{kind: kind, layout: newLayout()}
		if len(t.tables) > 1 && t.MultiCluster { // clusters may join with other kinds
			t.Table.ShowKind, t.last = true, nil
		}
	}
	return t.tables[kind]
}

// event implements encoder. It prints a header if that differs from the last one. A status event has the columns EVENT and TIME,
// and a text.
func (t *tableEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	if e.Type.IsStatus() {
		t.grid.event(t.statusLayout, e, FormatClock(e.Time, t.Timestamps), t.statusText(e))
		return dst, nil
	}
	table := t.tableOf(e.Object)
	cells := t.cells(table, e.Object, e.Target.Cluster)
	header := t.header(table, t.namespaced(table, e.Object))
	if joined := strings.Join(header, "\t"); !t.NoHeaders && (table != t.last || joined != table.header) {
		t.grid.add(table.layout, append([]string{"EVENT", "TIME"}, header...)...)
		t.last, table.header = table, joined
	}
	if e.Object.IsEvent() {
		countSeries(header, cells, table.namedCell(e.Object))
	}
	t.grid.event(table.layout, e, FormatClock(e.Time, t.Timestamps), cells...)
	if t.MultiCluster && t.Color {
		t.grid.paint(0, t.palette.SGR(e.Target.Cluster))
	}
	return dst, nil
}

// end implements batchEncoder.
func (t *tableEncoder) end(dst []byte) []byte { return t.grid.flush(dst) }

// list writes a table for each kind, separated by empty lines.
func (t *tableEncoder) list(w io.Writer, objects []event.Object) error {
	for len(objects) > 0 {
		table := t.tableOf(objects[0])
		n := 1
		for n < len(objects) && objects[n].GroupVersionKind() == table.kind {
			n++
		}
		if err := t.group(w, table, objects[:n]); err != nil {
			return err
		}
		if objects = objects[n:]; len(objects) > 0 && !t.NoHeaders {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// group writes the table of one kind.
func (t *tableEncoder) group(w io.Writer, table *table, objects []event.Object) error {
	objects, err := t.sorted(table, objects)
	if err != nil {
		return err
	}
	var lines [][]string
	lastHeader := ""
	clusters := map[int]string{} // by the index of the line
	for _, o := range objects {
		cluster := ""
		if t.MultiCluster {
			cluster = clusterOf(o)
		}
		cells := t.cells(table, o, cluster)
		header := t.header(table, t.namespaced(table, o))
		if joined := strings.Join(header, "\t"); joined != lastHeader && !t.NoHeaders {
			lastHeader, lines = joined, append(lines, header)
		}
		for i, cell := range cells {
			cells[i] = t.safe(cell)
		}
		if t.MultiCluster && t.Color {
			clusters[len(lines)] = cluster
		}
		lines = append(lines, cells)
	}
	return t.inColor(w, lines, clusters)
}

// inColor writes lines, and colours the names of clusters that some of them begin with.
func (t *tableEncoder) inColor(w io.Writer, lines [][]string, clusters map[int]string) error {
	if len(clusters) == 0 {
		return align(w, lines)
	}
	var aligned strings.Builder
	if err := align(&aligned, lines); err != nil {
		return err
	}
	written := strings.SplitAfter(aligned.String(), "\n")
	for n, line := range written {
		name := EscapeLine(clusters[n])
		if rest, is := strings.CutPrefix(line, name); is && name != "" && len(written) == len(lines)+1 { // a cell with a line feed would shift the lines
			written[n] = t.palette.Paint(clusters[n], name) + rest
		}
	}
	_, err := io.WriteString(w, strings.Join(written, ""))
	return err
}

// flowSchema is the only kind that the server lists by precedence instead of namespace and name.
var flowSchema = schema.GroupKind{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}

func (t *tableEncoder) sorted(table *table, objects []event.Object) ([]event.Object, error) {
	objects = slices.Clone(objects)
	if t.Order != nil {
		return objects, t.Order.sort(objects)
	}
	if table.kind.GroupKind() == flowSchema {
		precedence := func(o event.Object) int64 { return gjson.Get(o.Row(), "cells.2").Int() }
		slices.SortStableFunc(objects, func(a, b event.Object) int { return cmp.Compare(precedence(a), precedence(b)) })
	}
	return objects, nil
}

// cells returns the cells of an object, one for each column of header.
func (t *tableEncoder) cells(table *table, o event.Object, cluster string) []string {
	all := table.cells(o)
	cells := make([]string, 0, len(all)+3+len(t.Table.LabelColumns))
	if t.MultiCluster {
		cells = append(cells, EscapeLine(cluster))
	}
	if t.namespaced(table, o) {
		cells = append(cells, o.Namespace)
	}
	named := !t.Table.ShowKind
	for i, column := range table.columns {
		cell := all[i]
		if !named && column.IsName() {
			cell, named = strings.ToLower(table.kind.GroupKind().String())+"/"+cell, true
		}
		if column.Priority == 0 || t.Format == "wide" {
			cells = append(cells, cell)
		}
	}
	if t.Table.ShowLabels || len(t.Table.LabelColumns) > 0 {
		cells = append(cells, labelCells(o, t.Table.LabelColumns, t.Table.ShowLabels)...)
	}
	return cells
}

// namespaced reports whether the row of an object has the column NAMESPACE.
func (t *tableEncoder) namespaced(table *table, o event.Object) bool {
	return t.Table.ShowNamespaces && (o.Namespace != "" || t.Table.ClusterScoped[table.kind])
}

func (t *tableEncoder) header(table *table, namespaced bool) []string {
	var names []string
	if t.MultiCluster {
		names = append(names, "CLUSTER")
	}
	if namespaced {
		names = append(names, "NAMESPACE")
	}
	for _, column := range table.columns {
		if column.Priority == 0 || t.Format == "wide" {
			names = append(names, strings.ToUpper(EscapeLine(column.Name)))
		}
	}
	for _, label := range t.Table.LabelColumns {
		names = append(names, LabelHeader(label))
	}
	if t.Table.ShowLabels {
		names = append(names, "LABELS")
	}
	return names
}

// statusText describes a status event for people.
func (t *tableEncoder) statusText(e event.Event) string {
	if e.Type == event.Heartbeat {
		text := fmt.Sprintf("%d watched, all connected", e.Count)
		if !e.Connected {
			text = fmt.Sprintf("%d watched, not all connected", e.Count)
		}
		if !e.LastEvent.IsZero() {
			text += ", last event at " + FormatClock(e.LastEvent, t.Timestamps)
		}
		return text
	}
	text := e.Target.Text()
	switch {
	case e.Err != nil:
		text += ": " + e.Err.Error()
	case e.Type == event.Synced:
		text += fmt.Sprintf(": %d exist, at resourceVersion %s", e.Count, e.ResourceVersion)
	case e.Type == event.Gap:
		text += fmt.Sprintf(": relisted, from resourceVersion %s to %s", e.From, e.ResourceVersion)
	case e.ResourceVersion != "":
		text += ": from resourceVersion " + e.ResourceVersion
	}
	return text
}
