package watcher

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// rows are the events so far, with what tables show of their objects: name and data.
func (w *watching) rows() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, e := range w.events {
		line := string(e.Type)
		if !e.Type.IsStatus() {
			line = fmt.Sprintf("%s %s %s", e.Type, e.Object.Kind, e.Object.Name)
			if row := e.Object.Row(); row != "" {
				line += fmt.Sprintf(" [%s: %s=%s]", gjson.Get(row, "columnDefinitions.#.name"), gjson.Get(row, "cells.0"), gjson.Get(row, "cells.1"))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestTables: rows come as objects do, with their columns, which a server sends once a
// watch: after a cut, after a relist, by watch and by list.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, cluster)
			f, config := newFaults(t, cluster)
			var gap atomic.Bool
			answer := func(req *http.Request) *http.Response {
				initial := req.URL.Query().Get("sendInitialEvents") != ""
				switch {
				case initial && !streams:
					return respond(http.StatusUnprocessableEntity, unprocessable)
				case !initial && req.URL.Query().Get("watch") != "" && gap.CompareAndSwap(true, false):
					r.delete("a")
					return respond(http.StatusGone, expired)
				}
				return nil
			}
			f.set(answer)
			r.create("a")
			w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Tables: true})
			w.await("SYNCED", 1)
			r.create("b")
			w.await("ADDED b", 1)
			f.cut()
			r.update("b", 1)
			w.await("MODIFIED b", 1)
			gap.Store(true)
			f.cut()
			w.await("GAP", 1)
			r.delete("b")
			w.await("DELETED b", 1)
			if err := w.stop(); err != nil {
				t.Error(err)
			}
			columns := ` [["Name","Data","Age"]: `
			want := []string{
				"ADDED ConfigMap a" + columns + "a=1]", "SYNCED", "ADDED ConfigMap b" + columns + "b=1]",
				"MODIFIED ConfigMap b" + columns + "b=1]",
				"DELETED ConfigMap a", "GAP", "DELETED ConfigMap b" + columns + "b=1]",
			}
			got := slices.DeleteFunc(w.rows(), func(line string) bool { return strings.HasSuffix(line, "CONNECTED") })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWholeTables: with the whole objects asked for, an object is there beside its row,
// and without it is its metadata, but of the right type.
func TestWholeTables(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	r.create("a")
	for _, whole := range []bool{true, false} {
		options := Options{Config: config(t, cluster), Targets: []event.Target{r.target()}, Tables: true, FullObjects: whole}
		objects, err := newWatcher(t, options).List(t.Context())
		if err != nil || len(objects) != 1 {
			t.Fatal(objects, err)
		}
		w := watchWith(t, options)
		w.await("SYNCED", 1)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		for _, o := range []event.Object{objects[0], w.events[0].Object} {
			if o.Kind != "ConfigMap" || o.APIVersion != "v1" || o.Name != "a" || o.UID == "" || o.ResourceVersion == "" {
				t.Errorf("%+v", o.Identity)
			}
			if gjson.Get(o.Raw(), "data.n").Exists() != whole || strings.Contains(o.Raw(), "managedFields") {
				t.Errorf("whole=%t: %s", whole, o.Raw())
			}
			if got := gjson.Get(o.Row(), "cells.0").Str; got != "a" {
				t.Errorf("row %s", o.Row())
			}
		}
	}
}

// TestNoTables: a server that has no tables sends objects.
func TestNoTables(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		_, others, _ := strings.Cut(req.Header.Get("Accept"), ",")
		_, plain, _ := strings.Cut(others, ",")
		req.Header.Set("Accept", plain)
		return nil
	})
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Tables: true})
	w.await("SYNCED", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	if diff := cmp.Diff([]string{"ADDED ConfigMap a", "SYNCED", "MODIFIED ConfigMap a"}, w.rows()); diff != "" {
		t.Error(diff)
	}
}

// TestOddTables: a table that is not one row ends the connection, and what it showed
// is not lost.
func TestOddTables(t *testing.T) {
	t.Parallel()
	const row = `{"cells":["x"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x"}}}`
	for _, rows := range []string{`[]`, `null`, `[` + row + `,` + row + `]`, `[{"cells":["x"]}]`, `[{"cells":["x"],"object":null}]`, `[{"object":{"kind":"x"}}]`} {
		t.Run(rows, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, cluster)
			f, config := newFaults(t, cluster)
			r.create("a")
			w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Tables: true})
			w.await("SYNCED", 1)
			f.set(func(*http.Request) *http.Response {
				f.set(nil)
				return respond(http.StatusOK, `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[],"rows":`+rows+"}}\n")
			})
			f.cut()
			w.await("DISCONNECTED", 1)
			r.create("b")
			w.await("ADDED b", 1)
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
