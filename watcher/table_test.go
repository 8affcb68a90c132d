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

// rows formats the events so far, with the name and data columns of their table rows.
func (w *testRun) rows() []string {
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

// TestTables checks that every event has its row with columns, which a server sends once per watch,
// after a cut and a relist, with streams and lists.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			t.Parallel()
			r := newSandbox(t, cluster)
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

// TestFullTables checks that an object with a row is complete if FullObjects is set, and otherwise
// consists of metadata with the object's own type.
func TestFullTables(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("a")
	for _, full := range []bool{true, false} {
		options := Options{Config: config(t, cluster), Targets: []event.Target{r.target()}, Tables: true, FullObjects: full}
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
			if gjson.Get(o.Raw(), "data.n").Exists() != full || strings.Contains(o.Raw(), "managedFields") {
				t.Errorf("full=%t: %s", full, o.Raw())
			}
			if got := gjson.Get(o.Row(), "cells.0").Str; got != "a" {
				t.Errorf("row %s", o.Row())
			}
		}
	}
}

// TestNoTables checks that a server without tables sends objects.
func TestNoTables(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
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

// TestOddTables checks that a table that does not have one row ends the connection, and that the
// watch resumes before it.
func TestOddTables(t *testing.T) {
	t.Parallel()
	const row = `{"cells":["x"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x"}}}`
	for _, rows := range []string{`[]`, `null`, `[` + row + `,` + row + `]`, `[{"cells":["x"]}]`, `[{"cells":["x"],"object":null}]`, `[{"object":{"kind":"x"}}]`} {
		t.Run(rows, func(t *testing.T) {
			t.Parallel()
			r := newSandbox(t, cluster)
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
