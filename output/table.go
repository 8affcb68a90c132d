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

// TableOptions say what is in a table beside the server's columns.
type TableOptions struct {
	// Namespaces: NAMESPACE is a column of its own. Kinds: the kind is part of the name.
	ShowNamespaces, ShowKind bool
	// Unscoped are the kinds in no namespace that have an empty column NAMESPACE: in a
	// list each that comes after one with namespaces, as with kubectl.
	ClusterScoped map[schema.GroupVersionKind]bool
	// Labels are those that have columns. ShowLabels: one column has all.
	LabelColumns []string
	ShowLabels   bool
}

// tableEncoder prints the rows that the server makes of objects, as kubectl does.
// Lines of events begin with what happened, and when.
type tableEncoder struct {
	Options
	grid   grid
	tables map[schema.GroupVersionKind]*table
	marks  *layout
	last   *table // whose header was printed last
	// palette has the colours of clusters.
	palette Palette
}

// table is what is printed of one resource.
type table struct {
	kind schema.GroupVersionKind
	columnSet
	layout *layout
	headed string // its header, as it was printed last
}

func newTable(o Options) encoder {
	return &tableEncoder{Options: o, tables: map[schema.GroupVersionKind]*table{}, marks: newLayout(), palette: NewPalette(o.ClusterNames...)}
}

func (t *tableEncoder) tableOf(o event.Object) *table {
	kind := o.GroupVersionKind()
	if t.tables[kind] == nil {
		t.tables[kind] = &table{kind: kind, layout: newLayout()}
		if len(t.tables) > 1 && t.MultiCluster { // which was not known at the start
			t.Table.ShowKind, t.last = true, nil
		}
	}
	return t.tables[kind]
}

// event prints the header again when it is another one than in the line before. A mark has the
// columns that all lines have, and then text.
func (t *tableEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	if e.Type.IsStatus() {
		t.grid.event(t.marks, e, FormatClock(e.Time, t.Timestamps), t.markText(e))
		return dst, nil
	}
	of := t.tableOf(e.Object)
	cells := t.cells(of, e.Object, e.Target.Cluster)
	header := t.header(of, t.namespaced(of, e.Object))
	if joined := strings.Join(header, "\t"); !t.NoHeaders && (of != t.last || joined != of.headed) {
		t.grid.add(of.layout, append([]string{"EVENT", "TIME"}, header...)...)
		t.last, of.headed = of, joined
	}
	if e.Object.IsEvent() {
		countSeries(header, cells, of.named(e.Object))
	}
	t.grid.event(of.layout, e, FormatClock(e.Time, t.Timestamps), cells...)
	if t.MultiCluster && t.Color {
		t.grid.paint(0, t.palette.SGR(e.Target.Cluster))
	}
	return dst, nil
}

// end implements batcher.
func (t *tableEncoder) end(dst []byte) []byte { return t.grid.flush(dst) }

// list writes a table for each resource, with an empty line between two.
func (t *tableEncoder) list(w io.Writer, objects []event.Object) error {
	for len(objects) > 0 {
		of := t.tableOf(objects[0])
		n := 1
		for n < len(objects) && objects[n].GroupVersionKind() == of.kind {
			n++
		}
		if err := t.group(w, of, objects[:n]); err != nil {
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

func (t *tableEncoder) group(w io.Writer, of *table, objects []event.Object) error {
	objects, err := t.sorted(of, objects)
	if err != nil {
		return err
	}
	var lines [][]string
	headed := ""
	clusters := map[int]string{} // by the number of the line
	for _, o := range objects {
		cluster := ""
		if t.MultiCluster {
			cluster = clusterOf(o)
		}
		cells := t.cells(of, o, cluster)
		header := t.header(of, t.namespaced(of, o))
		if joined := strings.Join(header, "\t"); joined != headed && !t.NoHeaders {
			headed, lines = joined, append(lines, header)
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

// inColor writes lines, some of which begin with a cluster, whose name has its colour.
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
		if rest, is := strings.CutPrefix(line, name); is && name != "" && len(written) == len(lines)+1 { // else a cell has lines
			written[n] = t.palette.Paint(clusters[n], name) + rest
		}
	}
	_, err := io.WriteString(w, strings.Join(written, ""))
	return err
}

// flowSchema is the one type that the server lists by precedence, not by namespace and name.
var flowSchema = schema.GroupKind{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}

func (t *tableEncoder) sorted(of *table, objects []event.Object) ([]event.Object, error) {
	objects = slices.Clone(objects)
	if t.Order != nil {
		return objects, t.Order.sort(objects)
	}
	if of.kind.GroupKind() == flowSchema {
		precedence := func(o event.Object) int64 { return gjson.Get(o.Row(), "cells.2").Int() }
		slices.SortStableFunc(objects, func(a, b event.Object) int { return cmp.Compare(precedence(a), precedence(b)) })
	}
	return objects, nil
}

// cells returns what is shown of an object: a cell for each name of header.
func (t *tableEncoder) cells(of *table, o event.Object, cluster string) []string {
	all := of.cells(o)
	cells := make([]string, 0, len(all)+3+len(t.Table.LabelColumns))
	if t.MultiCluster {
		cells = append(cells, EscapeLine(cluster))
	}
	if t.namespaced(of, o) {
		cells = append(cells, o.Namespace)
	}
	named := !t.Table.ShowKind
	for i, column := range of.columns {
		cell := all[i]
		if !named && column.IsName() {
			cell, named = strings.ToLower(of.kind.GroupKind().String())+"/"+cell, true
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

// namespaced reports whether an object has a cell in the column NAMESPACE.
func (t *tableEncoder) namespaced(of *table, o event.Object) bool {
	return t.Table.ShowNamespaces && (o.Namespace != "" || t.Table.ClusterScoped[of.kind])
}

func (t *tableEncoder) header(of *table, namespaced bool) []string {
	var names []string
	if t.MultiCluster {
		names = append(names, "CLUSTER")
	}
	if namespaced {
		names = append(names, "NAMESPACE")
	}
	for _, column := range of.columns {
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

// markText says in words what a mark reports.
func (t *tableEncoder) markText(e event.Event) string {
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
